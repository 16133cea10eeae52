import { placed, requireRun } from '../../../core/export/planned-config';
import { runFindings } from '../../../core/rules/run-findings';
import { say } from '../../../core/sentence';
import type { Answer } from '../../../cli/answer';
import type { Line } from '../../../cli/command';
import { namedConfig, runConfig } from '../../../cli/read-config';
import { reportText } from '../../../cli/table';
import type { Terminal } from '../../../cli/terminal';
import { profilesFolder } from '../../../profiler/folder';
import { readProfiles } from '../../../profiler/store';
import { largestThatFits, type Largest } from '../core/largest';
import { largestReport, sizeText } from '../core/report';
import type { LargestKind } from '../core/kinds';

interface MaxQuestion {
  readonly what: LargestKind;
  readonly isSearched: boolean;
  readonly most: number | undefined;
}

/** `terapipe max`: the most of one size that fits. @throws ExpectedError of the files and the planner; CancelledError. */
export async function maxAnswer(
  line: Line,
  { what, isSearched, most }: MaxQuestion,
  terminal: Terminal,
  texts: Map<string, string>,
): Promise<Answer> {
  const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  const run = requireRun(config);
  const { signal, status } = terminal;
  const { found: profiles } = await readProfiles(profilesFolder(run.file));
  const onTry = (value: number): void => status(`trying ${say(sizeText(value, what))}`);
  const found = foundIn(() =>
    largestThatFits(run, what, {
      defaults: line.defaults,
      found: profiles,
      isSearched,
      signal,
      onTry,
      ...(most === undefined ? {} : { most }),
    }),
  );
  return {
    json: maxJson(run.title, found, isSearched),
    text: reportText(largestReport(found)),
    exitCode: found.value === null && found.mayFit === null ? 1 : 0,
  };

  function foundIn(work: () => Largest): Largest {
    try {
      return work();
    } catch (error) {
      throw placed(error, run, () => runFindings(run, null));
    }
  }
}

function maxJson(title: string, { because, notes, plan, ...found }: Largest, isSearched: boolean): object {
  return {
    version: 1,
    title,
    ...found,
    searched: isSearched,
    plan: plan === null ? null : { ...plan, layout: say(plan.layout), schedule: say(plan.schedule) },
    because: because === null ? null : say(because),
    notes: notes.map((note) => say(note)),
  };
}
