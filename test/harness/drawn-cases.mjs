// @ts-check
// What properties draw: the same cases in each `npm test`, so that one fails on the change that broke it and on no other; new ones in
// `npm run test:full`, whose failure prints its seed.
import { createRequire } from 'node:module';
import process from 'node:process';

/** The instance that the tests require. @type {typeof import('fast-check').default} */
const fc = createRequire(import.meta.url)('fast-check');

if (process.env['TERAPIPE_TESTS'] !== 'full') fc.configureGlobal({ seed: 20261128 });
