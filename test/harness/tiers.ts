// One tier, in a process that tier.mjs starts: NAME INPUT-JSON EVENTS-FILE.
import { runPackageTests } from '../vscode/package';
import { runVscodeTests } from '../vscode/run';
import { runWebviewTests } from '../webview/run';
import { eventWriter } from './events.mjs';
import type { TierInput, TierRun } from './tier-result';

const tiers: Readonly<Record<string, (run: TierRun) => Promise<void>>> = {
  webview: runWebviewTests,
  vscode: runVscodeTests,
  package: runPackageTests,
};

const [name = '', inputJson = '', eventsFile = ''] = process.argv.slice(2);
const tier = tiers[name];
if (tier === undefined || eventsFile === '') throw new Error(`usage: tier.mjs ${Object.keys(tiers).join('|')} INPUT-JSON EVENTS-FILE`);
void tier({ ...(JSON.parse(inputJson) as TierInput), emit: eventWriter(eventsFile) }).then(
  () => process.exit(),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
