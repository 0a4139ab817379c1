/**
 * The contract of the API, rule by rule: tests/contract/rules has the words of the specification,
 * headings/ a test for each, docs/conformance.md both. All of it over HTTP, against one system.
 */
import { startTarget } from './support/target.js';
import './headings/service.js';
import './headings/envelope-and-originator.js';

startTarget();
