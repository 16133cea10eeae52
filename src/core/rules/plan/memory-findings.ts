import type { Run } from '../../run/run';
import type { Finding, Fix, TextEdit } from '../../findings';
import { expandableSegments } from '../../memory-model/reserved';
import { mayFit, memoryVerdict, verdictSentence } from '../../memory-model/verdict';
import { chosenCandidate, type Plan } from '../../planner/plan';
import { either, lowerFirst, sentence } from '../../sentence';
import { remedyText, type Remedy } from './remedy';
import { findingAt, settingAt, settingsEdits } from '../settings';

/** What to do where no remedy is known. */
const searchRemedy = sentence`search layouts that fit, or use more or larger GPUs`;

/**
 * The finding that the planned step does not fit. A file that names no GPU is not to blame for the one that is assumed: it gets a warning,
 * and information where the step may fit.
 * @param remedies the changes that were found to help, cheapest first; each is a quick fix where the file can be edited and can express it.
 * @param inLauncher a remedy as edits of the launcher's file that the run is of, null where it cannot express it; left out: it is of none.
 *
 * @finding memory-over-capacity
 * The planned step needs more memory on some stage than is usable of its GPU: its memory less what is kept free for the CUDA context, NCCL
 * buffers and fragmentation. It is a warning, "may not fit", where it only needs some of what is kept free for fragmentation, of which a
 * run may need less; and under DeepSpeed and FSDP1 where the tensors fit, but not with the blocks that PyTorch's allocator keeps, which
 * expandable segments avoid. Once the plan is shown, changes that may help are planned (at most five): another schedule that fits and that
 * the runtime runs; sequence parallelism, flash attention, a sharded optimizer, a smaller micro-batch, recompute, more stages. Up to three
 * that fit are quick fixes, each with its cost in time (`Recompute all layers: fits, 31 % slower`); layouts that fit can be searched too.
 * Where no file names the GPU, it is a warning: the step is too large for the GPU that is assumed.
 * @example GPT-3 175B with `layout.pipeline` 8 on 8 A100-40GB: its weights and optimizer states already take more than a GPU has.
 * @source [docs/model/memory.md](model/memory.md): how the bytes of a stage are counted.
 * @ignore the run is known to fit: `terapipe profile` and `--measured` correct the prediction.
 */
export function memoryFindings(
  run: Run,
  plan: Plan | null,
  remedies: readonly Remedy[],
  inLauncher: ((remedy: Remedy) => readonly TextEdit[] | null) | null = null,
): Finding[] {
  if (plan === null) return [];
  const chosen = chosenCandidate(plan);
  if (chosen.fits && !chosen.tight) return [];
  const verdict = memoryVerdict(chosen.memory);
  const message = verdictSentence(verdict);
  const [cheapest] = remedies;
  const usual = chosen.fits ? sentence`set ${expandableSegments} in the environment` : searchRemedy;
  const remedy = cheapest === undefined ? usual : lowerFirst(remedyText(cheapest));
  const fixes = remedies
    .flatMap((each): Fix[] => {
      if (each.sets.length === 0) return [];
      const edits = inLauncher === null ? editsOfSettings(run, each) : inLauncher(each);
      return edits === null ? [] : [{ title: remedyText(each), edits, preferred: false, slower: each.slower }];
    })
    .map((fix, index) => ({ ...fix, preferred: index === 0 }));
  const isOpen = mayFit(verdict) || plan.request.leftOut?.some((setting) => savesMemory.has(setting)) === true;
  const severity = isOpen ? 'warning' : 'error';
  if (isGpuGiven(run)) return [findingAt(run, decisiveMemoryKey(run), 'memory-over-capacity', severity, { message, remedy }, fixes)];
  const onAssumed = {
    message: sentence`${message} (GPU assumed: ${plan.request.cluster.gpu.name})`,
    remedy: either([inLauncher !== null ? sentence`plan for your GPU (cluster.gpu)` : sentence`set cluster.gpu to yours`, remedy]),
  };
  const place = inLauncher === null ? '' : decisiveMemoryKey(run);
  return [findingAt(run, place, 'memory-over-capacity', isOpen ? 'information' : 'warning', onAssumed, fixes)];
}

/** Settings that are not planned with which a step takes less memory: ArcticTraining's MLP in tiles, torchtune's optimizer in backward. */
const savesMemory: ReadonlySet<string> = new Set(['tiled_mlp_compute', 'optimizer_in_bwd']);

/** Whether the files name what the step must fit; a GPU that follows from something else is assumed. */
export function isGpuGiven({ gpu, groups }: Pick<Run, 'gpu' | 'groups'>): boolean {
  return (gpu !== undefined && gpu.source.kind !== 'default') || groups !== undefined;
}

/** Edits of a terapipe.json; `layout.data` goes along only where the file has it. Null where no file can be edited. */
function editsOfSettings(run: Run, remedy: Remedy): readonly TextEdit[] | null {
  return settingsEdits(
    run,
    remedy.sets.filter(([key]) => key !== 'layout.data' || settingAt(run, key) !== undefined),
  );
}

/** What decides most about memory among what the file gives. */
function decisiveMemoryKey(run: Run): string {
  const keys = ['schedule', 'cluster.gpu', 'cluster.groups', 'layout.pipeline', 'layout.tensor', 'training.microBatch'] as const;
  return keys.find((key) => settingAt(run, key)?.source.kind === 'file') ?? 'schedule';
}
