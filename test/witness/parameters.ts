// Compares our counts of parameters with those of a JSON file that `parameters.py` wrote: exact, off by how much and whether
// with a warning, or refused and why. `node --import tsx test/witness/parameters.ts counts.json [--all]`; without `--all` only differences.
import { readFileSync } from 'node:fs';
import { ExpectedError } from '../../src/core/errors';
import { countModelParameters } from '../../src/core/huggingface/count';
import { readHuggingFace } from '../../src/core/huggingface/reader';
import { say, sentence } from '../../src/core/sentence';

interface Case {
  readonly id: string;
  readonly parameters: number | null;
  readonly error?: string;
  readonly config?: object;
}

const [file, ...flags] = process.argv.slice(2);
if (file === undefined) throw new Error('name the file that test/witness/parameters.py wrote');
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: readonly Case[] };
const tally = new Map<string, number>();
for (const { id, parameters, error, config } of cases) {
  const [verdict, ...words] = config === undefined || parameters === null ? ['not built', error ?? ''] : judged(config, parameters);
  tally.set(verdict, (tally.get(verdict) ?? 0) + 1);
  if (verdict !== 'exact' || flags.includes('--all')) console.log([verdict, id, parameters ?? '-', ...words].join('\t'));
}
console.log([...tally].map(([verdict, count]) => `${verdict} ${count}`).join(', '));

function judged(config: object, parameters: number): readonly [verdict: string, ...words: string[]] {
  try {
    const found = readHuggingFace('config.json', JSON.stringify(config));
    const ours = countModelParameters(found);
    if (ours === null) return ['refused', say(found.unplanned?.message ?? sentence``)];
    if (ours === parameters) return ['exact', String(ours)];
    const warning = found.remarks.find(({ severity }) => severity === 'warning');
    const share = `${((ours / parameters - 1) * 100).toFixed(3)} %`;
    return [warning === undefined ? 'off' : 'off, warned', String(ours), share, say(warning?.message ?? sentence``)];
  } catch (thrown) {
    if (!(thrown instanceof ExpectedError)) throw thrown;
    return ['refused', thrown.message];
  }
}
