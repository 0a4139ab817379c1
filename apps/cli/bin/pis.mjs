#!/usr/bin/env node
/** `npx pis …` in the checkout: built when stale, on the project's own Node. */
import { continueOnPinnedNode, prepare } from '../../../tools/workspace.mjs';

await prepare(['apps/cli']);
await continueOnPinnedNode();
await import('../dist/main.js');
