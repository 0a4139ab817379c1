#!/usr/bin/env node
/** `./pis …` in the checkout, or `npx pis …` once it is installed: builds what is stale first. */
import module from 'node:module';
import { compileCache, continueOnSupportedNode, prepare } from '../../../tools/workspace.mjs';

await prepare(['apps/cli']);
await continueOnSupportedNode();
module.enableCompileCache(compileCache);
await import('../dist/main.js');
