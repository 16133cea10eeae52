import * as v from 'valibot';
import { formatBytes, formatCount } from '../../../../core/format';
import { requireRun } from '../../../../core/export/planned-config';
import { largestThatFits } from '../../../largest/core/largest';
import { lackText, mayFitText } from '../../../largest/core/report';
import { largestKinds, largestUnits } from '../../../largest/core/kinds';
import { say } from '../../../../core/sentence';
import { boundedAnswer, gib, defineTool } from '../tool';
import { askedEntries } from '../input';
import { loadAsked } from '../load';
import { readFromText } from '../words';

export const maxTool = defineTool({
  title: 'The largest that still fits',
  description:
    'Finds the longest sequence, the largest micro-batch, or the most layers, experts or LoRA columns (rank) with which a run still fits GPU memory, or the fewest GPUs on which it fits, by bisection over full plans; all else stays as the file and "set" have it. Reports which stage and which part of its memory is the limit, and what the next larger one would need. Reads only.',
  input: v.object({
    what: v.pipe(v.picklist(largestKinds), v.description('What to enlarge (fewest-gpus: to make smaller)')),
    ...askedEntries,
  }),
  example: { what: 'sequence', path: 'config.json', gpu: 'H100-80GB', nodes: 1, set: { 'layout.tensor': 8 } },
  async run({ what, ...asked }, host) {
    const { config, texts } = await loadAsked(asked, host);
    const run = requireRun(config);
    const found = largestThatFits(run, what, {
      defaults: host.defaults,
      signal: host.signal,
      onTry: (value) => host.progress(`trying ${formatCount(value)}`),
    });
    const { value, plan, next, tried, step, because, notes } = found;
    const limit = plan?.limit ?? null;
    const unit = `${largestUnits[what]}s`;
    const isFewest = what === 'fewest-gpus';
    const lack = next === null ? null : say(lackText(next));
    const doubtful = mayFitText(found);
    return boundedAnswer(
      [
        value !== null
          ? `The ${isFewest ? 'fewest' : 'largest'} that fits: ${value.toLocaleString('en-US')} ${unit}${step !== null && step > 1 ? `, in steps of ${step.toLocaleString('en-US')}` : ''}.`
          : next === null
            ? `No size can be planned${because === null ? '' : `: ${say(because)}`}.`
            : `No size fits${next.tight ? ' for certain' : ''}: even ${next.value.toLocaleString('en-US')} ${unit} ${lack ?? ''}.`,
        limit === null
          ? null
          : `The limit is stage ${limit.stage} of ${limit.stages}, mostly its ${limit.part} (${formatBytes(limit.partBytes)}): peak ${formatBytes(limit.peakBytes)} of ${formatBytes(limit.usableBytes)} usable.`,
        value === null || next === null
          ? isFewest || value === null
            ? null
            : 'Nothing larger was refused within the limits of the model and batch.'
          : `${next.value.toLocaleString('en-US')} ${unit} ${lack ?? ''}.`,
        doubtful === null ? null : `In doubt: ${say(doubtful)}.`,
        ...notes.map((note) => `${say(note)}.`),
        readFromText(run, texts),
        'It counts the same safety margin as terapipe_memory.',
        value === null
          ? 'Next: terapipe_search, or recompute and a larger tensor size in "set".'
          : 'Next: terapipe_plan with this value in "set" for its step.',
      ],
      {
        what,
        value,
        sets: found.sets,
        limit:
          limit === null
            ? null
            : { stage: limit.stage, part: limit.part, peakGiB: gib(limit.peakBytes), usableGiB: gib(limit.usableBytes) },
        next:
          next === null ? null : { value: next.value, mayFit: next.tight, overGiB: next.overBytes === null ? null : gib(next.overBytes) },
        mayFit: found.mayFit,
        tried,
      },
    );
  },
});
