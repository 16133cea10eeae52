import process from 'node:process';
import { printAtOnce } from './print-at-once';

if (!printAtOnce(process.argv.slice(2))) void import('./run-on-thread');
