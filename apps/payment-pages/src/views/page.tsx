/** The frame of every page: head, the organization's name, the language switch. No inline script or style. */
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { type Language, languages } from '../language.js';
import { textsIn } from '../texts/texts-in.js';

export interface LogoPicture {
  readonly url: string;
  readonly width: number;
  readonly height: number;
}

/** The addresses of the files that a page loads. */
export interface AssetUrls {
  readonly stylesheet: string;
  readonly script: string;
  readonly icon: string;
}

export interface PageOptions {
  readonly language: Language;
  readonly title: string;
  /** Null when the page must not tell whose it is. */
  readonly organizationName: string | null;
  readonly logo: LogoPicture | null;
  readonly assets: AssetUrls;
}

/** A whole document. */
export function pageHtml(options: PageOptions, content: ReactNode): string {
  return `<!doctype html>${renderToStaticMarkup(<Document {...options}>{content}</Document>)}`;
}

function Document({
  language,
  title,
  organizationName,
  logo,
  assets,
  children,
}: PageOptions & { readonly children: ReactNode }) {
  const texts = textsIn[language];
  return (
    <html lang={language}>
      <head>
        <meta charSet="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex, nofollow" />
        <meta name="color-scheme" content="light dark" />
        <meta name="format-detection" content="telephone=no" />
        <title>{organizationName === null ? title : `${title} · ${organizationName}`}</title>
        <link rel="icon" href={assets.icon} type="image/svg+xml" />
        <link rel="stylesheet" href={assets.stylesheet} />
        <script type="module" src={assets.script} />
      </head>
      <body>
        <a className="skip" href="#content">
          {texts.skipToContent}
        </a>
        <header className="top">
          <p className="organization">
            {logo === null ? (
              organizationName
            ) : (
              <img
                className="logo"
                src={logo.url}
                width={logo.width}
                height={logo.height}
                alt={organizationName ?? ''}
              />
            )}
          </p>
          <LanguageSwitch current={language} />
        </header>
        <main id="content" tabIndex={-1}>
          {children}
        </main>
        <footer className="bottom">
          <p>{texts.footer}</p>
        </footer>
      </body>
    </html>
  );
}

function LanguageSwitch({ current }: { readonly current: Language }) {
  return (
    <nav aria-label={textsIn[current].languageSwitch}>
      <ul className="languages">
        {languages.map((language) => (
          <li key={language}>
            {language === current ? (
              <span lang={language} aria-current="true">
                {textsIn[language].languageName}
              </span>
            ) : (
              <a href={`?lang=${language}`} hrefLang={language} lang={language}>
                {textsIn[language].languageName}
              </a>
            )}
          </li>
        ))}
      </ul>
    </nav>
  );
}
