#!/usr/bin/env node
/** `./pis …` in the checkout, or `npx pis …` once it is installed: builds what is stale first. */
import { continueOnPinnedNode, prepare } from '../../../tools/workspace.mjs';

await prepare(['apps/cli']);
await continueOnPinnedNode();
await import('../dist/main.js');
