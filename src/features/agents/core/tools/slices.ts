import * as v from 'valibot';
import { formatDuration, formatPercent } from '../../../../core/format';
import { chosenCandidate } from '../../../../core/planner/plan';
import { say } from '../../../../core/sentence';
import { boundedAnswer, few, rounded, defineTool } from '../tool';
import { askedEntries } from '../input';
import { planAsked } from '../load';
import { memoryText, stepText, titleText } from '../words';

export const slicesTool = defineTool({
  title: 'Token slices of a pipeline',
  description:
    'Cuts the sequences of a pipeline into token slices (TeraPipe, Seq1F1B) so that the step is shortest, proves how far from optimal the cut can be, and compares it with whole sequences and equal slices. Use it for long sequences with few micro-batches, where the bubble is large. Needs layout.pipeline > 1. Reads only.',
  input: v.object({
    ...askedEntries,
    schedule: v.optional(
      v.pipe(v.picklist(['TeraPipe', 'Seq1F1B']), v.description('TeraPipe runs all forward slices first; Seq1F1B is 1F1B of slices')),
    ),
  }),
  example: { path: 'config.json', gpu: 'V100-16GB', nodes: 48, set: { 'layout.pipeline': 48, 'layout.tensor': 8 }, schedule: 'TeraPipe' },
  async run({ schedule = 'TeraPipe', ...asked }, host) {
    const { planned } = await planAsked({ ...asked, set: { ...asked.set, schedule } }, host, true);
    const { plan } = planned;
    const chosen = chosenCandidate(plan);
    const { certificate, scheme } = chosen;
    const others = plan.candidates.filter(({ id }) => id !== plan.chosen);
    const tokens = scheme[0]?.tokens ?? [];
    return boundedAnswer(
      [
        titleText(plan),
        `Chosen: ${say(chosen.name)}; ${scheme.length} micro-batches, of ${tokens.length} slices each: ${few(tokens, 64).join(', ')} tokens.`,
        stepText(plan, chosen),
        memoryText(chosen),
        certificate === null
          ? null
          : `No slices take less than ${formatDuration(certificate.lowerBoundMs)} in the pipeline part, these take ${formatDuration(certificate.optimumMs)}: ${formatPercent(Math.max(0, 1 - certificate.lowerBoundMs / certificate.optimumMs))} from the bound. ${say(certificate.note)}.`,
        ...few(others, 6).map(({ name, iterationMs }) => `Instead, ${say(name)}: ${formatDuration(iterationMs)}.`),
        ...few(plan.reasons, 2).map((reason) => say(reason)),
        'Next: terapipe export writes the slices for a runtime that runs them.',
      ],
      {
        schedule: chosen.schedule,
        microBatches: scheme.length,
        slices: few(tokens, 64),
        stepMs: rounded(chosen.iterationMs),
        bubble: rounded(chosen.bubbleRate),
        others: few(others, 6).map(({ name, iterationMs }) => ({ name: say(name), stepMs: rounded(iterationMs) })),
      },
    );
  },
});
