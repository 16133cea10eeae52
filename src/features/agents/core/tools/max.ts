import * as v from 'valibot';
import { formatBytes, formatCount } from '../../../../core/format';
import { requireRun } from '../../../../core/export/planned-config';
import { largestThatFits, largestKinds } from '../../../largest/core';
import { boundedAnswer, gib } from '../answer';
import { askedEntries } from '../input';
import { defaults, loadAsked } from '../load';
import { defineTool } from '../tool';
import { readFromText } from '../words';

export const maxTool = defineTool({
  title: 'The largest that still fits',
  description:
    'Finds the longest sequence, the largest micro-batch or the most layers with which a run still fits GPU memory, or the fewest nodes on which it fits, by bisection over full plans; all else stays as the file and "set" have it. Reports which stage and which part of its memory is the limit, and what the next larger one would need. Reads only.',
  input: v.object({
    what: v.pipe(v.picklist(largestKinds), v.description('What to enlarge (fewest-nodes: to make smaller)')),
    ...askedEntries,
  }),
  example: { what: 'sequence', path: 'config.json', gpu: 'H100-80GB', nodes: 1, set: { 'layout.tensor': 8 } },
  async run({ what, ...asked }, host) {
    const { config, texts } = await loadAsked(asked, host);
    const run = requireRun(config);
    const found = largestThatFits(run, what, {
      defaults,
      signal: host.signal,
      onTry: (value) => host.progress(`trying ${formatCount(value)}`),
    });
    const { value, limit, next, tried, step } = found;
    const unit = { sequence: 'tokens', 'micro-batch': 'sequences', layers: 'layers', 'fewest-nodes': 'nodes' }[what];
    const isFewest = what === 'fewest-nodes';
    return boundedAnswer(
      [
        value === null
          ? `No size fits: even ${next?.value ?? 1} ${unit} are too much.`
          : `The ${isFewest ? 'fewest' : 'largest'} that fits: ${value.toLocaleString('en-US')} ${unit}${step > 1 ? `, in steps of ${step.toLocaleString('en-US')}` : ''}.`,
        limit === null
          ? null
          : `The limit is stage ${limit.stage} of ${limit.stages}, mostly its ${limit.part} (${formatBytes(limit.partBytes)}): peak ${formatBytes(limit.peakBytes)} of ${formatBytes(limit.usableBytes)} usable.`,
        next === null
          ? isFewest
            ? null
            : 'Nothing larger was refused within the limits of the model and batch.'
          : `${next.value.toLocaleString('en-US')} ${unit} would ${next.overBytes === null ? `not run: ${next.because ?? ''}` : `need ${formatBytes(next.overBytes)} more than is usable`}.`,
        ...found.notes,
        readFromText(run, texts),
        'It counts the same safety margin as terapipe_memory, so a run may go a little further.',
        value === null
          ? 'Next: terapipe_search, or recompute and a larger tensor size in "set".'
          : 'Next: terapipe_plan with this value in "set" for its step.',
      ],
      {
        what,
        value,
        key: found.key,
        limit:
          limit === null
            ? null
            : { stage: limit.stage, part: limit.part, peakGiB: gib(limit.peakBytes), usableGiB: gib(limit.usableBytes) },
        next: next === null ? null : { value: next.value, overGiB: next.overBytes === null ? null : gib(next.overBytes) },
        tried,
      },
    );
  },
});
