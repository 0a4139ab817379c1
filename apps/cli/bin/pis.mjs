#!/usr/bin/env node
/** `./pis …` in the checkout, or `npx pis …` once it is installed: builds what is stale first. */
import { continueOnSupportedNode, prepare } from '../../../tools/workspace.mjs';

await prepare(['apps/cli']);
await continueOnSupportedNode();
await import('../dist/main.js');
