import * as v from 'valibot';
import { ExpectedError } from '../../../../core/errors';
import { editableFile, requireEdited, thatSet, writtenInto } from '../../../../core/export/launchers/edit-launcher';
import { launcherSettings } from '../../../../core/export/launchers/memory-fixes';
import { plannedStep } from '../../../../core/export/launchers/launch-settings';
import { unifiedDiff } from '../../../../core/export/line-diff';
import { remarkLine } from '../../../../core/launchers/writing/remarks';
import { mayFit } from '../../../../core/memory-model/verdict';
import { chosenCandidate } from '../../../../core/planner/plan';
import { say, sentence } from '../../../../core/sentence';
import { changeJson } from '../../../../core/terapipe/change-json';
import { settingKey } from '../../../../core/terapipe/overrides';
import { boundedAnswer, countTokens, defineTool, type ToolHost } from '../tool';
import { configEntries, set as settings } from '../input';
import { planAsked, type PlannedQuestion } from '../load';
import { memoryText, stepText } from '../words';

export const patchTool = defineTool({
  title: 'The change of a config as a diff',
  description:
    'Writes settings into the text of a config, in the terms of its own launcher, comments and order kept, plans the edited file again, and returns the change as a unified diff. Nothing is written to disk: show the diff to the person, who decides. Use it after terapipe_search or terapipe_plan with the "set" that was found.',
  input: v.object({ ...configEntries, set: settings }),
  example: { path: 'train.sh', set: { 'layout.tensor': 4, 'layout.pipeline': 8 } },
  async run(asked, host) {
    const read = await planAsked(asked, host);
    const { plan } = read.planned;
    const chosen = chosenCandidate(plan);
    const { file, before, text, gaps, also } = await changed(read, asked.set, host);
    const diff = unifiedDiff(before, text, file, file);
    if (countTokens(diff) > 1000)
      throw new ExpectedError(
        'patch-too-long',
        sentence`The change is longer than an answer may be`,
        sentence`set fewer keys at once, or use terapipe export`,
      );
    return boundedAnswer(
      [
        diff === '' ? `${file} already sets it: there is nothing to change.` : `The change of ${file}, which is not written:`,
        ...diff.split('\n'),
        also,
        ...gaps.map((gap) => `Not in this file: ${gap}`),
        `Planned with it: ${stepText(plan, chosen)} ${memoryText(chosen)}`,
        'Next: show this diff to the person and write it only with their yes; then terapipe_check.',
      ],
      { file, isChanged: diff !== '', fits: mayFit(chosen) },
    );
  },
});

interface Changed {
  readonly file: string;
  readonly before: string;
  readonly text: string;
  readonly gaps: readonly string[];
  readonly also: string | null;
}

type Values = Readonly<Record<string, unknown>>;

async function changed({ config, planned, texts }: PlannedQuestion, set: Values, { shell }: ToolHost): Promise<Changed> {
  const { launcher, reread, format } = config;
  const { file } = planned.run;
  const keys = Object.keys(set).map((key) => settingKey(key) ?? key);
  if (format === 'huggingface') return nextToModel(file, set);
  if (launcher === null || reread === null) {
    const before = texts.get(file) ?? '';
    const change = changeJson(before, jsonChanges(set));
    return {
      file,
      before,
      text: change === null ? before : before.slice(0, change.start) + change.newText + before.slice(change.end),
      gaps: [],
      also: null,
    };
  }
  await shell();
  const editable = await editableFile(launcher, reread);
  if (editable === null)
    throw new ExpectedError(
      'apply-not-this-file',
      sentence`Files of this launcher are not edited`,
      sentence`change the lines that terapipe_inspect names by hand`,
    );
  const step = plannedStep(planned.plan);
  const asked = thatSet(new Set(keys.flatMap((key) => launcherSettings(key))));
  const edited = writtenInto(step.plan, editable, asked);
  requireEdited(step, edited, editable, asked);
  const { text, gaps, alongside } = edited;
  return {
    file: launcher.file,
    before: launcher.text,
    text,
    gaps: gaps.map((gap) => say(remarkLine(gap))),
    also: alongside.length === 0 ? null : `It also changes ${alongside.join('; ')}, which take the same variable.`,
  };
}

function jsonChanges(set: Values) {
  return Object.entries(set).map(([key, value]) => ({
    path: (settingKey(key) ?? key).split('.'),
    value: value as string | number | boolean | readonly (string | number)[],
  }));
}

/** A model has no place for a layout: a terapipe.json next to it has. */
function nextToModel(file: string, set: Values): Changed {
  const name = file.split(/[\\/]/).at(-1) ?? file;
  const change = changeJson('', [{ path: ['model'], value: name }, ...jsonChanges(set)]);
  return {
    file: `${file.slice(0, file.length - name.length)}terapipe.json`,
    before: '',
    text: change?.newText ?? '',
    gaps: [],
    also: 'A model config has no place for a layout, so this is a new terapipe.json next to it.',
  };
}
