import { placed } from '../../../core/errors';
import { runtimeFiles } from '../../../core/export/torch/folder';
import { remarkSeverity } from '../../../core/launchers/writing/remarks';
import type { Run } from '../../../core/run/run';
import { printable } from '../../../core/text';
import { say } from '../../../core/sentence';
import type { ResolveDefaults } from '../../../core/plan-request/scenario';
import { printedRemark, type Answer } from '../../../cli/answer';
import { referencedInto } from '../../../cli/read-config';
import type { Terminal } from '../../../cli/terminal';
import { writeOutFolder } from '../../../cli/write-file';
import { readFolder } from '../../../files/text-folder';
import { profilesFolder } from '../../../profiler/folder';
import { readProfiles } from '../../../profiler/store';
import { planElastic } from '../core/make-plan';
import { readNamedNorms } from '../core/named-norms';
import { resolveElastic } from '../core/resolve';
import { elasticRunFolder } from '../core/torch-run';

/** Where the folder goes; `write`: replace files that exist. */
interface OutFolder {
  readonly out: string;
  readonly write: boolean;
}

/**
 * `terapipe export FILE --to torchrun` of a run that freezes layers. @throws ExpectedError as `elasticRunFolder`, `planElastic` and
 * `writeOutFolder`.
 */
export async function elasticTorchAnswer(
  run: Run,
  defaults: ResolveDefaults,
  { out, write }: OutFolder,
  { texts, torchFolder, err }: Pick<Terminal, 'torchFolder' | 'err'> & { readonly texts: Map<string, string> },
): Promise<Answer> {
  const { found } = await readProfiles(profilesFolder(run.file));
  const norms = await readNamedNorms(run, referencedInto(texts));
  const { plan, written } = placed(run.place, () => {
    const made = planElastic(resolveElastic(run, defaults, norms, found));
    return { plan: made, written: elasticRunFolder(made) };
  });
  const folder = new Map([...written.files, ...(await readFolder(torchFolder, runtimeFiles))]);
  await writeOutFolder(out, folder, write);
  for (const gap of written.gaps) err(`${printedRemark(gap)}\n`);
  const gaps = written.gaps.map((gap) => ({ what: say(gap.what), reason: say(gap.reason), severity: remarkSeverity(gap) }));
  return {
    json: {
      version: 1,
      to: 'torchrun',
      text: null,
      written: out,
      gaps,
      runs: { name: plan.request.title, schedule: plan.request.schedule, totalMs: plan.totalMs, epochs: plan.epochs.length },
      files: [...folder.keys()],
    },
    text: `Wrote ${printable(out)}: start it with run.sh`,
    exitCode: 0,
  };
}
