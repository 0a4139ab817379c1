import { deferredMessagesContract } from './testing/deferred-contract.js';
import { memoryDeferredMessages } from './testing/memory.js';

deferredMessagesContract('the retry table in memory', () => memoryDeferredMessages());
