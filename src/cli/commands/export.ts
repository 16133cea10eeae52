import { orList } from '../../core/text';
import { defineCommand, parseChoice, refuseBoth, usage, type Given, type Line, type Run } from '../command';
import { configOptions, measured, schedule, withSchedule } from '../common-options';
import { exportFormatNamed, exportNames } from '../export-formats';
import { parseSearchChoice, searchChoice, free, parseFreeKeys, schedules, withSchedules } from '../search-options';
import { sentence } from '../../core/sentence';
import { findSliceRuntime } from '../../core/slice-runtimes/registry';
import { maximum } from '../../core/numbers';

const longestName = maximum(exportNames.map((name) => name.length));

const options = {
  ...configOptions,
  measured,
  to: { value: 'FORMAT', help: exportNames.map((name) => `${`${name}:`.padEnd(longestName + 2)}${exportFormatNamed(name).description}`) },
  schedule,
  ...searchChoice,
  into: {
    value: 'EXISTING',
    help: "change this launcher's file instead: prints the difference, which patch -p0 takes; comments and layout of the file are kept",
  },
  out: { value: 'PATH', help: 'write to a new file, instead of printing; with --search a folder too; with --to torchrun a folder' },
  write: { help: 'with --into, change EXISTING itself; with --out, replace PATH' },
  search: {
    help: "write the best layout that FILE's launcher (or that of --to) can express, planned again from the written file; needs --out",
  },
  free,
  schedules,
} as const;

export const exportCommand = defineCommand({
  takes: 'FILE',
  description: "the plan as a launcher's file, as changes to yours, as a report, or its schedule: PyTorch's CSV, a trace, a picture",
  options,
  start: (plainLine, given) => {
    const { to: format, schedule: named, candidate = null, into = null, out = null, write = false, measured: step } = given;
    const line = withSchedules(plainLine, given.schedules);
    const to = format === undefined ? null : parseChoice(exportNames, format, 'nothing to export to');
    if (given.search === true) return searched(withSchedule(line, named), given, to);
    const misplaced = (['free', 'schedules', 'row'] as const).find((option) => given[option] !== undefined);
    if (misplaced !== undefined) throw usage(sentence`--${misplaced} is an option of a search`, sentence`give --search too`);
    if (to === null && into === null) throw usage(sentence`export needs a format`, sentence`give --to ${orList(exportNames)}`);
    if (to !== null && into === null && out === null && exportFormatNamed(to).isFolder === true)
      throw usage(sentence`--to ${to} writes a folder`, sentence`give --out DIR`);
    if (into === '-') throw usage(sentence`--into takes a file, not standard input`, sentence`name the file`);
    if (write && into === null && out === null)
      throw usage(sentence`--write needs something to write to`, sentence`give --into or --out too`);
    const planned = withSchedule(line, named);
    return async (terminal, texts) => {
      const { exportAnswer } = await import('../answers/export');
      const { planNearby } = await import('../planned');
      const { measuredConfig, sayDifferences } = await import('../../features/compare/cli/measured-config');
      const read = await measuredConfig(planned, step, terminal, texts);
      sayDifferences(read, terminal);
      const { run } = read.config;
      if (to === 'torchrun' && out !== null && run.elastic !== undefined) {
        if (candidate !== null) throw usage(sentence`a run that freezes layers has no candidates`, sentence`leave --candidate out`);
        const { elasticTorchAnswer } = await import('../../features/elastic/cli/torch-answer');
        return elasticTorchAnswer(run, read.line.defaults, { out, write }, { ...terminal, texts });
      }
      if (to !== null && into === null) await exportFormatNamed(to).requirePlannable?.(run);
      const isOfChosen = candidate === null && to !== null && into === null && exportFormatNamed(to).isOfChosen === true;
      const plan = await planNearby(read.config, read.line.defaults, terminal.status, !isOfChosen);
      return exportAnswer(read.config, plan, { to, candidate, into, out, write }, { ...terminal, texts });
    };
  },
});

/** `export FILE --search --out PATH`. */
function searched(line: Line, given: Given<typeof options>, to: string | null): Run {
  refuseBoth(given, 'into', 'search');
  const choice = parseSearchChoice(given);
  const { out, write = false } = given;
  if (out === undefined) throw usage(sentence`export --search needs a file or folder to write`, sentence`give --out PATH`);
  const format = to === null ? null : exportFormatNamed(to);
  const isSearched = (name: string): boolean => exportFormatNamed(name).into.length > 0 || findSliceRuntime(name) !== undefined;
  if (to !== null && !isSearched(to))
    throw usage(sentence`${to} is not a launcher`, sentence`give --to ${orList(exportNames.filter(isSearched))}`);
  return async (terminal, texts) => {
    const { exportBestAnswer } = await import('../answers/export-search');
    const { measuredConfig, sayDifferences } = await import('../../features/compare/cli/measured-config');
    const read = await measuredConfig(line, given.measured, terminal, texts, true);
    const { config, line: asked } = read;
    sayDifferences(read, terminal);
    const isOwn = format === null || format.into.some((each) => each === config.run.format);
    const { sets, machine, profile, model, defaults } = asked;
    const reading = { sets, machine, model, shell: terminal.shell, withProfile: profile === null };
    const asBest = { reading, defaults, free: given.free === undefined ? null : parseFreeKeys(given.free), to: isOwn ? null : to, choice };
    return exportBestAnswer(config, asBest, { out, write }, terminal, texts);
  };
}
