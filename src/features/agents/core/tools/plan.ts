import * as v from 'valibot';
import { mayFit } from '../../../../core/memory-model/verdict';
import { formatDuration } from '../../../../core/format';
import { costsText, stepCosts } from '../../../../core/planner/explain/limit-labels';
import { isTie } from '../../../../core/planner/explain/reasons';
import { chosenCandidate } from '../../../../core/planner/plan';
import { trainingCost, trainingCostText } from '../../../../core/planner/training-cost';
import { say } from '../../../../core/sentence';
import { neededFor } from '../../../../core/schedules/runtimes';
import { boundedAnswer, few, defineTool } from '../tool';
import { askedEntries } from '../input';
import { planAsked } from '../load';
import { assumesText, memoryText, planData, readFromText, remediesText, runsText, startsText, stepText, titleText } from '../words';

export const planTool = defineTool({
  title: 'Predict the step of a training run',
  description:
    'Predicts the step time of one layout with its range, bubble, tokens per second, MFU and memory, reports what costs most and which other schedules are faster. The layout is that of the file, "set" changes it. Use it for "how long does a step take", "what if TP is 4", "how many days for 15T tokens" (set {"training.tokens": 15e12}). For the best layout call terapipe_search. Reads only.',
  input: v.object({
    ...askedEntries,
    schedules: v.optional(v.pipe(v.boolean(), v.description('Also compare other schedules; takes longer'))),
  }),
  example: { path: 'config.json', gpu: 'H100-80GB', nodes: 8, set: { 'layout.tensor': 8, 'layout.pipeline': 4 } },
  async run(asked, host) {
    const { planned, texts } = await planAsked(asked, host, asked.schedules === true);
    const { run, plan, findings, remedies = [] } = planned;
    const chosen = chosenCandidate(plan);
    const cost = trainingCost(plan.request, chosen.tokensPerSecond);
    const needs = neededFor(chosen.schedule, plan.request);
    const others = plan.candidates.filter(({ id }) => id !== plan.chosen).toSorted((a, b) => a.iterationMs - b.iterationMs);
    return boundedAnswer(
      [
        startsText(findings, texts),
        titleText(plan),
        runsText(plan.request, chosen),
        stepText(plan, chosen),
        memoryText(chosen),
        mayFit(chosen) ? null : remediesText(remedies),
        needs === null ? null : `The schedule needs ${say(needs)}.`,
        cost === null ? null : `Whole run: ${say(trainingCostText(cost))}.`,
        `Most of the step: ${say(costsText(stepCosts(plan, chosen)))}.`,
        assumesText(plan, chosen),
        ...few(plan.reasons, 3).map((reason) => say(reason)),
        asked.schedules === true
          ? `Other schedules: ${few(others, 6)
              .map(
                (other) =>
                  `${say(other.name)} ${formatDuration(other.iterationMs)}${mayFit(other) ? '' : ' (does not fit)'}${isTie(plan, other) ? ' (within error)' : ''}`,
              )
              .join('; ')}.`
          : null,
        readFromText(run, texts),
        `Range: ${say(plan.cost.errorBecause)}.`,
        mayFit(chosen)
          ? 'Next: terapipe_search looks for a better layout.'
          : 'Next: one of the changes above in "set", or terapipe_search.',
      ],
      planData(plan, chosen),
    );
  },
});
