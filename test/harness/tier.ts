// One tier in a process of its own: `node --import tsx test/harness/tier.ts NAME INPUT-JSON RESULT-FILE`.
import { writeFileSync } from 'node:fs';
import { runPackageTests } from '../vscode/package';
import { runVscodeTests } from '../vscode/run';
import { runWebviewTests } from '../webview/run';
import type { TierInput, TierResult } from './tier-result';

const tiers: Readonly<Record<string, (input: TierInput) => Promise<TierResult>>> = {
  webview: runWebviewTests,
  vscode: runVscodeTests,
  package: runPackageTests,
};

const [name = '', inputJson = '', resultFile = ''] = process.argv.slice(2);
const tier = tiers[name];
if (tier === undefined || resultFile === '') throw new Error(`usage: tier.ts ${Object.keys(tiers).join('|')} INPUT-JSON RESULT-FILE`);
void tier(JSON.parse(inputJson) as TierInput).then(
  (result) => {
    writeFileSync(resultFile, JSON.stringify(result));
    process.exit();
  },
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
