import * as v from 'valibot';
import { comparePlans } from '../../../compare/core/plans';
import { planSentences } from '../../../compare/core/plan-labels';
import { formatDuration } from '../../../../core/format';
import { mayFit } from '../../../../core/memory-model/verdict';
import { chosenCandidate } from '../../../../core/planner/plan';
import { say } from '../../../../core/sentence';
import { boundedAnswer, few, rounded, defineTool } from '../tool';
import { askedEntries, configEntries, set } from '../input';
import { planAsked } from '../load';
import { memoryText, remediesText } from '../words';

export const compareTool = defineTool({
  title: 'Why two configs or layouts differ',
  description:
    'Plans two configs, or one config with other settings, and explains the difference of their steps part by part, with memory, what was set differently, and whether the difference is within the error. "other" is what the first is compared with: a path or text of its own, or only {"set": {...}} over the first. Warns when the global batch differs, which changes convergence. Reads only.',
  input: v.object({
    ...askedEntries,
    other: v.pipe(
      v.object({ ...configEntries, gpu: askedEntries.gpu, nodes: askedEntries.nodes, gpus: askedEntries.gpus, set: v.optional(set) }),
      v.description('The second config; without path and text it is the first with these settings'),
    ),
  }),
  example: { path: 'config.json', nodes: 8, set: { 'layout.tensor': 8 }, other: { set: { 'layout.tensor': 4 } } },
  async run({ other, ...asked }, host) {
    const isSame = other.path === undefined && other.text === undefined;
    const second = isSame ? { ...asked, ...other, set: { ...asked.set, ...other.set } } : other;
    const a = (await planAsked(asked, host)).planned;
    const b = (await planAsked(second, host)).planned;
    const [ofA, ofB] = [chosenCandidate(a.plan), chosenCandidate(b.plan)];
    const comparison = comparePlans(a.plan, b.plan, { a: 'A', b: 'B' });
    const { requestDiff, parts, speedup, tie } = comparison;
    const batches = [a, b].map(({ plan }) => plan.request.training.globalBatch);
    const moved = parts.toSorted((x, y) => Math.abs(y.bMs - y.aMs) - Math.abs(x.bMs - x.aMs));
    return boundedAnswer(
      [
        ...planSentences(comparison).map((sentence) => say(sentence)),
        batches[0] === batches[1]
          ? null
          : `The global batch differs (A ${batches[0]}, B ${batches[1]}): this changes convergence, so compare tokens per second, not steps.`,
        `A: ${memoryText(ofA)}`,
        `B: ${memoryText(ofB)}`,
        mayFit(ofB) ? null : remediesText(b.remedies ?? []),
        `Parts of the step, A to B: ${few(moved, 6)
          .map(({ name, aMs, bMs }) => `${say(name)} ${formatDuration(aMs)} to ${formatDuration(bMs)}`)
          .join('; ')}.`,
        ...few(requestDiff, 12).map(
          ({ key, a: left, b: right }) => `Set differently: ${key} is ${left.slice(0, 60)} in A, ${right.slice(0, 60)} in B.`,
        ),
        tie
          ? 'They are within error: prefer the one with less memory, or measure both.'
          : 'Next: terapipe_patch writes the better settings as a diff.',
      ],
      {
        aMs: rounded(ofA.iterationMs),
        bMs: rounded(ofB.iterationMs),
        speedupOfB: rounded(speedup),
        tie,
        fits: { a: mayFit(ofA), b: mayFit(ofB) },
        globalBatch: { a: batches[0], b: batches[1] },
      },
    );
  },
});
