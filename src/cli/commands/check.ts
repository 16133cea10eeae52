import process from 'node:process';
import { isAtLeast, type Severity } from '../../core/findings';
import { sentence } from '../../core/sentence';
import { defineCommand, parseChoice, usage } from '../command';
import { all, configOptions, format, ignore } from '../common-options';

const formats = ['text', 'json', 'sarif', 'github', 'junit'] as const;
const severities: readonly Severity[] = ['error', 'warning', 'information'];

export const checkCommand = defineCommand({
  takes: 'PATH...',
  description: 'everything wrong in the configs of files and folders',
  options: {
    ...configOptions,
    all,
    ignore,
    severity: { value: 'LEVEL', help: 'findings to look for: error, warning (and errors) or information (all, the default)' },
    strict: { help: 'exit status 1 for warnings too' },
    format,
  },
  start: ({ paths, sets, machine, profile, model, defaults, json }, given) => {
    const { all: isAll = false, ignore: codes = '', severity: level = 'information', strict = false, format: written = 'text' } = given;
    const least = parseChoice(severities, level, 'no severity');
    const printedAs = parseChoice(formats, written, 'no format of check');
    if (json && !['text', 'json'].includes(printedAs))
      throw usage(sentence`--json and --format ${printedAs} are two formats`, sentence`give one of them`);
    const off = new Set(codes.split(',').map((code) => code.trim()));
    return async (terminal, texts) => {
      const { checkPaths } = await import('../checked');
      const { profileOfLine } = await import('../read-config');
      const { formattedCheck } = await import('../check-formats/registry');
      const { shell, signal, status, docsFolder } = terminal;
      const planned = await profileOfLine({ profile }, texts);
      const looked = { sets, machine, profile: planned, model, shell, signal, off, progress: status, isAsked: isAtLeast(least) };
      const report = await checkPaths(paths, looked, defaults, texts);
      return formattedCheck(report, printedAs, { all: isAll, isStrict: strict, folder: process.cwd(), docsFolder });
    };
  },
});
