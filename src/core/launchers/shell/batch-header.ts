import { flagKey } from '../megatron/megatron-flags';
import type { LaunchFlag } from './launch';
import type { Piece, Value } from '../../languages/shell/words';
import { own } from '../../records';

/** What Slurm sets for the options of a `#SBATCH` line. */
const environmentNames: ReadonlyMap<string, readonly string[]> = new Map([
  ['nodes', ['SLURM_NNODES', 'SLURM_JOB_NUM_NODES']],
  ['ntasks', ['SLURM_NTASKS', 'SLURM_NPROCS']],
  ['ntasks-per-node', ['SLURM_NTASKS_PER_NODE']],
  ['gpus-per-node', ['SLURM_GPUS_PER_NODE', 'SLURM_GPUS_ON_NODE']],
  ['gres', ['SLURM_GPUS_ON_NODE']],
]);

const shortNames: Readonly<Record<string, string>> = { '-N': '--nodes', '-n': '--ntasks' };

interface Option {
  readonly name: string;
  readonly nameStart: number;
  readonly value: string;
  readonly start: number;
}

/** The options that size the job, from the lines `#SBATCH --nodes=4`. */
function options(text: string): readonly Option[] {
  const found = text.slice(0, 20_000).matchAll(/^#SBATCH[ \t]+(--[\w-]+|-[Nn])[= \t]*([\w:.-]+)/gm);
  return [...found].flatMap((match) => {
    const [line, written = '', value = ''] = match;
    const name = own(shortNames, written) ?? written;
    return environmentNames.has(flagKey(name))
      ? [{ name, nameStart: match.index + line.indexOf(written), value, start: match.index + line.length - value.length }]
      : [];
  });
}

function plain(text: string): Value {
  return { kind: 'scalar', parts: [{ kind: 'text', start: 0, end: 0, text }] };
}

/** The variables that a script finds: its folders, and those that the batch system sets from the script's header. */
export function scriptEnvironment(text: string): ReadonlyMap<string, Value> {
  const variables = new Map<string, Value>([
    ['HOME', plain('~')],
    ['PWD', plain('.')],
  ]);
  for (const { name, value, start } of options(text)) {
    const count = /(\d+)$/.exec(value)?.[1];
    if (count === undefined) continue;
    const end = start + value.length;
    const parts: Extract<Value, { kind: 'scalar' }>['parts'] = [{ kind: 'text', start: end - count.length, end, text: count }];
    for (const variable of environmentNames.get(flagKey(name)) ?? []) variables.set(variable, { kind: 'scalar', parts });
  }
  return variables;
}

/** The same as flags. */
export function clusterOfScheduler(file: string, text: string): ReadonlyMap<string, LaunchFlag> {
  return new Map(
    options(text).map(({ name, nameStart, value, start }): [string, LaunchFlag] => {
      const range = { start, end: start + value.length };
      const piece: Piece = { text: value, ...range, site: null, condition: undefined, variable: undefined };
      const place = { file, range: { start: nameStart, end: start } };
      return [flagKey(name), { name, place, words: [{ text: value, place: { file, range } }], pieces: [piece] }];
    }),
  );
}
