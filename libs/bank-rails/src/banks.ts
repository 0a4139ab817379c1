/** `@pis/bank-rails/banks`: what PIS_BANKS_FILE says, for processes that talk to no bank, too. */
export * from './connections/bank-config.js';
export * from './connections/bank-hosts.js';
export * from './connections/banks-file.js';
export * from './connections/offered-rails.js';
