import { parseArgs } from 'node:util';
import { presetNamed } from '../core/config/cluster-section';
import { closest } from '../core/config/suggest';
import { ExpectedError } from '../core/errors';
import type { ResolveDefaults } from '../core/planner/resolve';
import { orList, quoted } from '../core/text';

export const commandNames = ['plan', 'memory', 'check', 'inspect', 'solve'] as const;
export type CommandName = (typeof commandNames)[number];

/** A command line, understood. */
export interface Command {
  readonly name: CommandName;
  readonly paths: readonly string[];
  readonly json: boolean;
  /** `key=value` settings over what the files say, in order. */
  readonly sets: readonly string[];
  /** For what no file says. */
  readonly defaults: ResolveDefaults;
}

export const helpText = `Usage: terapipe COMMAND FILE [options]

Plans how to train a Transformer over a pipeline of GPUs: how to cut the layers into
stages, the batch into micro-batches, and the sequence into token slices (TeraPipe).

Commands
  plan FILE       the best schedule that fits, with its step time, bubble and memory
  memory FILE     peak memory of every stage and what it is made of
  check PATH...   everything wrong in the configs of files and folders
  inspect FILE    what a config says, with the defaults of its format
  solve FILE      the optimal slicing of a raw problem (batch, tokens, unit, stages, cost)

FILE is a HuggingFace config.json, a terapipe.json, or - for standard input.

Options
  --json              print one JSON object and nothing else
  --set KEY=VALUE     override a key of terapipe.json, as training.microBatch=1; repeatable
  --gpu NAME          GPU where no file names one (A100-80GB)
  --nodes N           nodes where no file says (enough for the layout)
  --gpus-per-node N   GPUs per node where no file says (as the GPU is usually built in)
  -h, --help          this text

Exit status: 0 fine, 1 a finding of severity error or a plan that does not fit,
2 bad input, 3 internal error.
`;

/**
 * Understands a command line; `help` when the text above is asked for.
 * @throws ExpectedError `usage` without a place.
 */
export function parseCommand(args: readonly string[]): Command | 'help' {
  const { values, positionals } = parsed(args);
  const [name, ...paths] = positionals;
  if (values.help === true || name === 'help') return 'help';
  if (name === undefined) throw usage('No command', `give one of ${orList(commandNames)}`);
  if (!isCommand(name)) {
    const meant = closest(name, commandNames);
    throw usage(`${quoted(name)} is not a command`, meant === null ? `use ${orList(commandNames)}` : `did you mean ${meant}?`);
  }
  if (paths.length === 0) throw usage(`${name} needs a file`, 'name one, or - for standard input');
  if (paths.length > 1 && name !== 'check') throw usage(`${name} takes one file, not ${paths.length}`, 'run it once for each');
  const gpu = presetNamed(values.gpu ?? 'A100-80GB');
  if (typeof gpu !== 'string') throw gpu;
  return {
    name,
    paths,
    json: values.json === true,
    sets: values.set ?? [],
    defaults: { gpu, nodes: countOf('--nodes', values.nodes), gpusPerNode: countOf('--gpus-per-node', values['gpus-per-node']) },
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean' },
        set: { type: 'string', multiple: true },
        gpu: { type: 'string' },
        nodes: { type: 'string' },
        'gpus-per-node': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    if (error instanceof TypeError) throw usage(error.message.split(/\.\s/, 1)[0] ?? 'Bad arguments', 'see terapipe --help');
    throw error;
  }
}

function isCommand(name: string): name is CommandName {
  return (commandNames as readonly string[]).includes(name);
}

function countOf(option: string, written: string | undefined): number | null {
  if (written === undefined) return null;
  const count = Number(written);
  if (!/^\d+$/.test(written) || count < 1 || count > 1_000_000)
    throw usage(`${option} is ${quoted(written)}`, 'give it a whole number from 1 to 1,000,000');
  return count;
}

function usage(message: string, remedy: string): ExpectedError {
  return new ExpectedError('usage', message, remedy);
}
