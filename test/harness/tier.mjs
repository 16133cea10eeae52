// @ts-check
// One tier in a process of its own: `node --import ./test/harness/typescript.mjs test/harness/tier.mjs NAME INPUT-JSON EVENTS-FILE`.
import { createRequire } from 'node:module';

createRequire(import.meta.url)('./tiers.ts');
