/** Installs what is missing and builds what is stale, for .ci/run and deploy/Dockerfile. */
import { prepare } from './workspace.mjs';

await prepare();
