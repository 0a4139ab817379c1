/** The routing directory in PostgreSQL: lookups, and the import of participant lists. */
export * from './directory/directory-age.js';
export * from './directory/directory-import.js';
export { DirectoryFileRefused } from './directory/participant-lines.js';
export * from './directory/stored-directory.js';
