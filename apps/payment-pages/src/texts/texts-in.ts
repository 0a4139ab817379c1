import type { Language } from '../language.js';
import { english } from './english.js';
import { spanish } from './spanish.js';
import type { Texts } from './texts.js';

export const textsIn: Readonly<Record<Language, Texts>> = { en: english, es: spanish };
