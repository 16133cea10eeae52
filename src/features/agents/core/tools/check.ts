import * as v from 'valibot';
import { configFindings } from '../../../../core/export/config-findings';
import { ExpectedError } from '../../../../core/errors';
import { findingOfError, startErrors, type Finding } from '../../../../core/findings';
import { fileStart } from '../../../../core/languages/json/document';
import { mayFit, memoryVerdict } from '../../../../core/memory-model/verdict';
import { chosenCandidate } from '../../../../core/planner/plan';
import { planRun } from '../../../../core/export/planned-config';
import { boundedAnswer, few, defineTool } from '../tool';
import { askedEntries } from '../input';
import { loadAsked } from '../load';
import { findingData, findingText, memoryData, memoryText, readFromText, remediesText } from '../words';

export const checkTool = defineTool({
  title: 'Does a training config start, and does it fit',
  description:
    'Finds what the launcher itself would refuse (sizes that do not divide, flags that exclude each other, unknown flags), what has no effect, and whether the run fits GPU memory: which stage does not, by how much, and changes that make it fit, each planned. Use it before a job is submitted and after any edit of a config. Reads only.',
  input: v.object(askedEntries),
  example: { path: 'train.sh', gpu: 'H100-80GB' },
  async run(asked, host) {
    const { config, texts } = await loadAsked(asked, host);
    const { run, noRun } = config;
    const answer = (findings: readonly Finding[], lines: readonly (string | null)[], data: object) => {
      const sorted = findings.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity));
      const errors = startErrors(findings).length;
      return boundedAnswer(
        [
          errors === 0 ? 'It starts as written: nothing that its launcher refuses was found.' : `It does not start: ${errors} errors.`,
          ...lines,
          ...sorted.map((finding) => findingText(finding, texts)),
          errors > 0
            ? 'Next: fix the errors at these lines (terapipe_patch writes a diff for settings), then check again.'
            : 'Next: terapipe_plan for its step, terapipe_search for a better layout.',
        ],
        { starts: errors === 0, ...data, findings: few(sorted, 8).map((finding) => findingData(finding, texts)) },
      );
    };
    if (run === null)
      return answer(
        noRun === null ? config.findings : [findingOfError(noRun, fileStart('')), ...config.findings],
        ['Nothing is planned, so memory is not known.'],
        {},
      );
    try {
      const { plan, findings, remedies = [] } = planRun(config, host.defaults, { signal: host.signal, isCompared: false });
      const chosen = chosenCandidate(plan);
      const verdict = memoryVerdict(chosen.memory);
      const lines = [memoryText(chosen), mayFit(verdict) ? null : remediesText(remedies), readFromText(run, texts)];
      return answer(findings, lines, { memory: memoryData(verdict) });
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      const found = configFindings(config, run, null);
      const isKnown = found.some(({ severity }) => severity === 'error');
      return answer(isKnown ? found : [findingOfError(error, run.place), ...found], ['Memory is not known until it can be planned.'], {});
    }
  },
});

const severities: readonly Finding['severity'][] = ['error', 'warning', 'information'];
