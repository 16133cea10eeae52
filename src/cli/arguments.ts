import { parseArgs, type ParseArgsConfig } from 'node:util';
import { version } from '../../package.json';
import { settingKey } from '../core/terapipe/overrides';
import { closest } from '../core/suggest';
import { orList, quoted } from '../core/text';
import { usage, type Command, type Given, type Options, type Run } from './command';
import { commonOptions, defaults, parseMachine, type configOptions } from './common-options';
import { commandHelp, helpText } from './help';
import { commands } from './registry';
import { sentence } from '../core/sentence';
import { own } from '../core/records';

const commandNames = Object.keys(commands);

/** Every option that there is, for the parser; a command refuses those of others. */
const allOptions: Options = Object.assign({}, commonOptions, ...Object.values(commands).map(({ options }) => options)) as Options;

/** A command line, understood: what to print, or what to do. */
type Understood = { readonly help: string } | { readonly json: boolean; readonly run: Run };

/**
 * Understands a command line.
 * @throws ExpectedError `usage` without a place.
 */
export function understand(args: readonly string[]): Understood {
  const tokens = parseTokens(args);
  const [first, ...files] = tokens.filter((token) => token.kind === 'positional');
  const written = tokens.filter((token) => token.kind === 'option');
  const given: Given = Object.fromEntries(written.map(({ name, value }) => [name, value ?? true]));
  const common = given as Given<typeof commonOptions & typeof configOptions>;
  const paths = files.map(({ value }) => value);
  const [path] = paths;
  if (first?.value === 'help') return { help: helpOn(path) };
  if (common.help === true) return { help: helpOn(first?.value) };
  if (common.version === true) return { help: `${version}\n` };
  const [name, command] = commandNamed(first?.value);
  const isOptional = command.takes === '' || command.takes === '[FOLDER]';
  if (path === undefined && !isOptional) throw usage(sentence`${name} needs a file`, sentence`name one, or - for standard input`);
  if (path !== undefined && command.takes === '') throw usage(sentence`${name} takes no file`, sentence`leave ${quoted(path)} out`);
  if (paths.length > 1 && command.takes === 'FILE')
    throw usage(sentence`${name} takes one file, not ${paths.length}`, sentence`run it once for each`);
  refuseForeign(name, command, Object.keys(given));
  if (common.model === '') throw usage(sentence`--model is empty`, sentence`name a config.json or a model of Hugging Face's hub`);
  const sets = written.flatMap(({ name: option, value }) => (option === 'set' && value !== undefined ? [value] : []));
  const profile = common.profile ?? sets.findLast(isProfileSet)?.replace(profileSet, '').trim() ?? null;
  const fileIndex = files[0]?.index ?? 0;
  const line = {
    path: path ?? '.',
    paths,
    sets: sets.filter((set) => !isProfileSet(set)),
    machine: parseMachine(common, sets),
    defaults,
    profile,
    model: common.model,
    json: common.json === true || given['format'] === 'json',
    options: written.map(({ name: option, value }) => ({ name: option, value })),
    beforePath: new Set(written.filter(({ index }) => index < fileIndex).map((option) => option.name)),
  };
  return { json: line.json, run: command.start(line, given) };
}

function parseTokens(args: readonly string[]) {
  const options: NonNullable<ParseArgsConfig['options']> = Object.fromEntries(
    Object.entries(allOptions).map(([name, { value, short }]) => {
      const type = value === undefined ? 'boolean' : 'string';
      return [name, short === undefined ? { type } : { type, short }];
    }),
  );
  try {
    return parseArgs({ args: [...args], allowPositionals: true, tokens: true, options }).tokens;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const [, unknown] = /^Unknown option '--?([^'=]+)/.exec(error.message) ?? [];
    if (unknown !== undefined)
      throw unknownOption(
        unknown,
        args.find((arg) => commandNames.includes(arg)),
      );
    throw usage(sentence`${error.message.split(/\.\s/, 1)[0] ?? sentence`Bad arguments`}`, sentence`see terapipe --help`);
  }
}

/** Options by what launchers call them. */
const launcherNames: Readonly<Record<string, string>> = {
  'num-gpus': 'gpus',
  'n-gpus': 'gpus',
  'world-size': 'gpus',
  nnodes: 'nodes',
  'num-nodes': 'nodes',
  'num-machines': 'nodes',
  'nproc-per-node': 'gpus-per-node',
  'gpu-type': 'gpu',
  'train-tokens': 'tokens',
};

/** What was meant by an option that no command has: one of this command's, or a setting (`--tp 8`). */
function unknownOption(written: string, name: string | undefined): Error {
  const taken = name === undefined ? allOptions : { ...commonOptions, ...own(commands, name)?.options };
  const named = own(launcherNames, written);
  const meant = named !== undefined && Object.hasOwn(taken, named) ? named : closest(written, Object.keys(taken));
  const key = 'set' in taken ? settingKey(written) : null;
  return usage(
    sentence`--${written} is not an option${name === undefined ? '' : sentence` of ${name}`}`,
    meant !== null
      ? sentence`did you mean --${meant}?`
      : key !== null
        ? sentence`give --set ${key}=VALUE`
        : sentence`see terapipe ${name ?? ''} --help`,
  );
}

function helpOn(name: string | undefined): string {
  return name !== undefined && commandNames.includes(name) ? commandHelp(name) : helpText();
}

function commandNamed(name: string | undefined): readonly [string, Command] {
  if (name === undefined) throw usage(sentence`No command`, sentence`give one of ${orList(commandNames)}`);
  const found = own(commands, name);
  if (found !== undefined) return [name, found];
  const meant = closest(name, commandNames);
  throw usage(
    sentence`${quoted(name)} is not a command`,
    meant === null ? sentence`use ${orList(commandNames)}` : sentence`did you mean ${meant}?`,
  );
}

function refuseForeign(name: string, { options }: Command, given: readonly string[]): void {
  const foreign = given.find((option) => !Object.hasOwn(options, option) && !Object.hasOwn(commonOptions, option));
  if (foreign === undefined) return;
  const owners = commandNames.filter((owner) => Object.hasOwn(own(commands, owner)?.options ?? {}, foreign));
  throw usage(sentence`--${foreign} is an option of ${orList(owners)}, not of ${name}`, sentence`leave it out`);
}

/** `--set cost.profile=FILE` is `--profile FILE`. */
const profileSet = /^\s*cost\.profile\s*=/;

function isProfileSet(set: string): boolean {
  return profileSet.test(set);
}
