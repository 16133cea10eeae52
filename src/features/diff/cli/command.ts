import { sentence } from '../../../core/sentence';
import { quoted } from '../../../core/text';
import { defineCommand, parseChoice, usage } from '../../../cli/command';
import type { SideChanges } from './compare-sides';
import type { RevisionRange } from './sides';
import { all, configOptions, format, ignore } from '../../../cli/common-options';

const formats = ['text', 'json', 'markdown'] as const;

export const diffCommand = defineCommand({
  takes: 'PATH...',
  description: 'what a change of configs does to step, memory, fit, batch and findings',
  options: {
    ...configOptions,
    all,
    ignore,
    git: { value: 'BASE..HEAD', help: 'compare PATH in two revisions; BASE...HEAD since they parted' },
    format,
  },
  notes: `The two that diff compares are files, folders, or git revisions: main is the current
folder there, main:configs/a.yaml a path in it. Exit status 1 where the change adds an
error or a step that no longer fits.`,
  start: ({ paths, sets, machine, profile, model, defaults, json }, given) => {
    const { all: isAll = false, ignore: codes = '', format: written = 'text' } = given;
    const printedAs = parseChoice(formats, written, 'no format of diff');
    if (json && printedAs === 'markdown') throw usage(sentence`--json and --format markdown are two formats`, sentence`give one of them`);
    const range = given.git === undefined ? null : parseRange(given.git);
    if (range === null && paths.length !== 2)
      throw usage(sentence`diff compares two, not ${paths.length}`, sentence`give BASE and HEAD, or --git BASE..HEAD and paths`);
    const off = new Set(codes.split(',').map((code) => code.trim()));
    return async ({ shell, signal, status }, texts) => {
      const { profileOfLine } = await import('../../../cli/read-config');
      const { compareSides, openSides } = await import('./compare-sides');
      const { diffAnswer } = await import('./answer');
      const sides = await openSides(paths, range, signal);
      const planned = await profileOfLine({ profile }, texts);
      const options = { sets, machine, profile: planned, model, shell, signal, defaults, off, progress: status };
      const compared: SideChanges[] = [];
      for (const { base, head } of sides) compared.push(await compareSides(base, head, options));
      return diffAnswer(sides, compared, { all: isAll, asMarkdown: printedAs === 'markdown' });
    };
  },
});

function parseRange(written: string): RevisionRange {
  const [, base = '', dots = '', head = ''] = /^(.*?)(\.\.\.?)(.*)$/.exec(written) ?? [];
  if (base === '') throw usage(sentence`--git is ${quoted(written)}`, sentence`give two revisions, as main..HEAD`);
  return { base, head: head === '' ? 'HEAD' : head, sinceParted: dots === '...' };
}
