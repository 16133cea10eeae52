// Lets the parsers of the launchers themselves read the files that we write of many models, layouts and numbers of GPUs:
//
//   PYTHON=.../python node --import tsx test/witness/accepted.ts OUT megatron=GIT_DIR@core_v0.9.0,core_v0.15.3 torchtitan=FOLDER ...
//
// Sources are clones, each with the revisions to read, or folders of releases as PyPI has them, unpacked. A script of
// `test/witness/parsers` runs each parser; what it needs is in its head. Files that are in OUT are not written again, and none are with
// `--written`. Prints a table, then what was refused and why, and ends with 1 where anything was.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { defaults } from '../../src/cli/common-options';
import { exportFormatNamed } from '../../src/cli/export-formats';
import { planRun } from '../../src/core/export/planned-config';
import { readConfig } from '../../src/cli/read-config';
import { ExpectedError } from '../../src/core/errors';
import { openCommandLine, type CommandLine } from '../unit/cli/command-line';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { chooseLayouts, type Layout } from './parsers/layouts';
import { launchWords } from './parsers/launch-words';
import { unpackSources } from './parsers/sources';

/** A file that was written, or why it was not. */
interface Written {
  readonly name: string;
  readonly world: number;
  /** GPUs that share a sequence, which DeepSpeed's file leaves to the script. */
  readonly context: number;
  /** Compute capability of its GPUs, which Megatron-LM asks them for. */
  readonly capability: readonly [number, number];
  readonly refused: string | null;
}

interface Launcher {
  readonly format: string;
  readonly ending: string;
  /** The script of `parsers` that runs the parser. */
  readonly script: string;
  /** Folders of a clone that it needs. */
  readonly packages: readonly string[];
}

/** By the name in front of the sources. */
const launchers: Readonly<Record<string, Launcher>> = {
  megatron: { format: 'megatron', ending: 'sh', script: 'parse_megatron.py', packages: ['megatron'] },
  torchtitan: { format: 'torchtitan', ending: 'toml', script: 'parse_torchtitan.py', packages: ['torchtitan'] },
  deepspeed: { format: 'deepspeed', ending: 'json', script: 'parse_deepspeed.py', packages: ['deepspeed', 'accelerator', 'op_builder'] },
};

const folder = path.join(import.meta.dirname, 'parsers');
const models = JSON.parse(readFileSync(path.join(folder, 'models.json'), 'utf8')) as Readonly<Record<string, object>>;

/** Writes the files of all models and layouts that OUT lacks, and lists them by format. */
async function writeFiles(out: string, formats: readonly Launcher[]): Promise<Readonly<Record<string, readonly Written[]>>> {
  const listed = path.join(out, 'files.json');
  const files: Record<string, Written[]> = existsSync(listed)
    ? (JSON.parse(readFileSync(listed, 'utf8')) as Record<string, Written[]>)
    : {};
  const line = openCommandLine();
  for (const [at, [model, config]] of Object.entries(models).entries()) {
    const source = path.join(line.folder, `${model}.json`);
    writeFileSync(source, JSON.stringify(config));
    for (const layout of chooseLayouts(config, at)) {
      const name = `${model}.${layout.name}`;
      const wanted = formats.filter(({ format, ending }) => files[format]?.some((file) => file.name === `${name}.${ending}`) !== true);
      if (wanted.length === 0) continue;
      const write = layout.isSearched === true ? searched(line, source, layout) : await planned(source, layout);
      for (const { format, ending } of wanted) {
        const refused = await write(format, path.join(out, `${name}.${ending}`));
        (files[format] ??= []).push({
          name: `${name}.${ending}`,
          world: layout.gpus,
          context: contextSize(layout),
          capability: layout.sets.includes('cluster.gpu=B200') ? [10, 0] : [9, 0],
          refused: refused?.replaceAll(line.folder, '') ?? null,
        });
      }
      console.error(name, wanted.map(({ format }) => files[format]?.at(-1)?.refused ?? '').join(' '));
      writeFileSync(listed, JSON.stringify(files));
    }
  }
  line.dispose();
  return files;
}

function contextSize({ sets }: Layout): number {
  return Number(sets.find((set) => set.startsWith('layout.context='))?.split('=')[1] ?? 1);
}

/** Writes a file of a format; why it was not written, or null. */
type Write = (format: string, file: string) => Promise<string | null>;

/** As `terapipe export --to` writes it, all formats of one plan. */
async function planned(source: string, { gpus, sets }: Layout): Promise<Write> {
  const texts = new Map<string, string>();
  const machine = [`cluster.nodes=${gpus / 8}`, 'cluster.gpusPerNode=8'];
  const text = readFileSync(source, 'utf8');
  const failed = (error: unknown): string => {
    if (error instanceof ExpectedError) return `${error.code}: ${error.message}`;
    throw error;
  };
  try {
    const reading = { sets: [...machine, ...sets], shell: shellReader };
    const { plan } = planRun(await readConfig({ file: source, text }, reading, texts), defaults);
    return (format, file) =>
      Promise.resolve(exportFormatNamed(format).create(plan, [], shellReader)).then(({ pieces }) => {
        writeFileSync(file, [...pieces].join(''));
        return null;
      }, failed);
  } catch (error) {
    const why = failed(error);
    return () => Promise.resolve(why);
  }
}

/** As `terapipe export --search --to` writes it. */
function searched(line: CommandLine, source: string, { gpus, sets }: Layout): Write {
  const given = ['--gpus', String(gpus), ...sets.flatMap((set) => ['--set', set])];
  return async (format, file) => {
    const { err } = await line.run(['export', source, '--to', format, '--search', ...given, '--write', '--out', file]);
    return existsSync(file) ? null : (err.trim().split('\n').at(-1) ?? '');
  };
}

/** Whether a file is for this release of Megatron-LM's core; files of others name none. */
function isFor(version: string, file: string): boolean {
  const oldest = /core 0\.(\d+) and newer/.exec(readFileSync(file, 'utf8'));
  const release = /core_v0\.(\d+)/.exec(version);
  return oldest === null || release === null || Number(oldest[1]) <= Number(release[1]);
}

/** By file why the parser refuses it; null where it accepts. */
function parsed(script: string, root: string, out: string, files: readonly Written[]): readonly (string | null)[] {
  const cases = files.map(({ name, world, context, capability }) => {
    const file = path.join(out, name);
    return name.endsWith('.sh') ? { world, capability, ...launchWords(file) } : { world, context, file };
  });
  const python = process.env['PYTHON'] ?? 'python3';
  const { stdout, stderr } = spawnSync(python, ['-B', path.join(folder, script), root], {
    input: JSON.stringify(cases),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const answer = stdout.split('\n').find((line) => line.startsWith('['));
  if (answer === undefined) throw new Error(`${script} of ${root} does not run: ${stderr}`);
  return JSON.parse(answer) as readonly (string | null)[];
}

const reasons = new Map<string, string[]>();

function addReason(reason: string, file: string): void {
  reasons.set(reason, [...(reasons.get(reason) ?? []), file]);
}

async function main([out = 'out/accepted', ...options]: readonly string[]): Promise<void> {
  const given = options.filter((option) => option !== '--written');
  const isWritten = given.length < options.length;
  mkdirSync(out, { recursive: true });
  const rows: (readonly (string | number)[])[] = [['launcher', 'version', 'for newer', 'accepted', 'refused']];
  const parsers = given.map((argument) => {
    const [name = '', ...rest] = argument.split('=');
    const launcher = launchers[name];
    if (launcher === undefined) throw new Error(`"${name}" names none of the launchers; use ${Object.keys(launchers).join(', ')}`);
    return { name, launcher, sources: rest.join('=') };
  });
  const written = await writeFiles(path.resolve(out), isWritten ? [] : parsers.map(({ launcher }) => launcher));
  for (const { name, launcher, sources } of parsers) {
    const all = written[launcher.format] ?? [];
    const made = all.filter(({ refused }) => refused === null);
    for (const { name: file, refused } of all) if (refused !== null) addReason(`${name}, not written: ${refused}`, file);
    for (const { version, folder } of unpackSources(sources, launcher.packages)) {
      const files = made.filter((file) => isFor(version, path.join(out, file.name)));
      const answers = parsed(launcher.script, folder, path.resolve(out), files);
      const refused = files.flatMap((file, i) => (answers[i] === null ? [] : [{ ...file, why: answers[i] ?? '' }]));
      for (const { name: file, why } of refused) addReason(`${name} ${version}: ${why}`, file);
      rows.push([name, version, made.length - files.length, files.length - refused.length, refused.length]);
    }
  }
  for (const row of rows) console.log(row.join('\t'));
  for (const [reason, files] of [...reasons].sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`\n${reason}\n  ${files.length}: ${files.slice(0, 4).join(', ')}`);
  process.exitCode = rows.slice(1).every((row) => row.at(-1) === 0) ? 0 : 1;
}

void main(process.argv.slice(2));
