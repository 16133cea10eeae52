import { commonOptions, configOptions } from './common-options';
import type { Option, Options } from './command';
import { commands } from './registry';
import { own } from '../core/records';

/** Columns of a line, and where the texts of commands and options begin. */
const lineWidth = 92;
const commandColumn = 18;
const optionColumn = 22;

const intro = `Plans how to train a Transformer over a pipeline of GPUs: how to cut the layers into
stages, the batch into micro-batches, and the sequence into token slices (TeraPipe).`;

const files = `FILE is a launch script or config (Megatron-LM, NeMo, TorchTitan, DeepSpeed and others),
a HuggingFace config.json, a terapipe.json, or - for standard input; for profile and
inspect also an ONNX model.`;

const exits = `Exit status: 0 fine, 1 a finding of severity error, a plan that does not fit, or
cancelled, 2 bad input, 3 internal error.`;

/** What `terapipe --help` prints. */
export function helpText(): string {
  const { help, ...common } = commonOptions;
  const all = Object.entries(commands);
  const isShared = (option: Option): boolean => all.filter(([, { options }]) => Object.values(options).includes(option)).length > 1;
  const optionsThat = (options: Options, shared: boolean): Options =>
    Object.fromEntries(Object.entries(options).filter(([, option]) => isShared(option) === shared));
  const shared = all.map(([, { options }]) => optionsThat(options, true));
  const own = all.map(([name, { options }]) => section(`Options of ${name}`, optionRows(optionsThat(options, false))));
  return joined([
    'Usage: terapipe COMMAND FILE [options]',
    intro,
    section(
      'Commands',
      all.flatMap(([name, { takes, description }]) => row(`${name} ${takes}`, description, commandColumn)),
    ),
    files,
    section('Options', optionRows(Object.assign({}, common, ...shared, { help }) as Options)),
    ...own,
    ...all.map(([, { notes = '' }]) => notes),
    exits,
  ]);
}

/** What `terapipe NAME --help` prints. */
export function commandHelp(name: string): string {
  const { takes, description, options, notes = '' } = own(commands, name) ?? { takes: '', description: '', options: {} };
  const optionsThat = (ofConfigs: boolean): Options =>
    Object.fromEntries(Object.entries(options).filter(([option]) => Object.hasOwn(configOptions, option) === ofConfigs));
  return joined([
    `Usage: terapipe ${name} ${takes} [options]`,
    wrapped(`${description.charAt(0).toUpperCase()}${description.slice(1)}.`, lineWidth).join('\n'),
    section(`Options of ${name}`, optionRows(optionsThat(false))),
    section('Options of all commands that read a config', optionRows(optionsThat(true))),
    section('Options of all commands', optionRows(commonOptions)),
    notes,
    exits,
  ]);
}

function joined(parts: readonly string[]): string {
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function section(title: string, rows: readonly string[]): string {
  return rows.length === 0 ? '' : [title, ...rows].join('\n');
}

function optionRows(options: Options): string[] {
  return Object.entries(options).flatMap(([name, { value, short, help, also }]) => [
    ...row(`${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`, help, optionColumn),
    ...(also === undefined ? [] : row(`--${name} ${also.value}`, also.help, optionColumn)),
  ]);
}

/** A name and what it is, below each other where that takes several lines. */
function row(name: string, help: string | readonly string[], column: number): string[] {
  const lines = typeof help === 'string' ? wrapped(help, lineWidth - column) : help;
  return lines.map((line, index) => `${(index === 0 ? `  ${name}` : '').padEnd(column)}${line}`);
}

/** A text in lines of at most `width` columns. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
