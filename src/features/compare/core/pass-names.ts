import { operationKind, type OperationKind } from '../../../core/schedules/schedule';
import { own } from '../../../core/records';

/** The pass that the name of an event stands for; null: unknown. */
interface NamedPass {
  readonly kind: OperationKind;
  /** Chunk of the model in order of the layers. */
  readonly chunk: number | null;
  readonly microBatch: number | null;
  readonly slice: number | null;
}

const ownKinds: Readonly<Record<string, OperationKind>> = {
  forward: operationKind.forward,
  backward: operationKind.backward,
  'backward input': operationKind.backwardInput,
  'backward weight': operationKind.backwardWeight,
};

const actionKinds: Readonly<Record<string, OperationKind>> = {
  F: operationKind.forward,
  B: operationKind.backward,
  I: operationKind.backwardInput,
  W: operationKind.backwardWeight,
};

/**
 * Recognises a pass by the name of its event:
 * - `forward 3`, `backward input 3.1`: our own `chrome-trace` export (micro-batch and slice);
 * - `PP:2F0`: `torch.distributed.pipelining`, whose schedules of several stages a rank record `PP:` and the action (stage, F B I or W,
 *   micro-batch); PyTorch 2.9;
 * - `2F0`: our PyTorch runtime (stage, F B I or W, unit); the event's arguments have micro-batch and slice;
 * - `Forward 0`, `Backward 0`: its GPipe schedule (micro-batch);
 * - `forward-compute`, `backward-compute`: Megatron-LM's timers, by which traces of its runs are called (as those of ByteDance's
 *   StragglerAnalysis).
 * Sends, receives and all else: null.
 */
export function passOfName(name: string): NamedPass | null {
  const action = /^(PP:)?(\d{1,7})([FBIW])(\d{1,7})$/.exec(name);
  if (action !== null)
    return {
      kind: own(actionKinds, action[3] ?? '') ?? operationKind.forward,
      chunk: Number(action[2]),
      microBatch: action[1] === undefined ? null : Number(action[4]),
      slice: null,
    };
  const ours = /^(forward|backward|backward input|backward weight) (\d{1,7})(?:\.(\d{1,7}))?$/.exec(name);
  if (ours !== null)
    return {
      kind: own(ownKinds, ours[1] ?? '') ?? operationKind.forward,
      chunk: null,
      microBatch: Number(ours[2]),
      slice: ours[3] === undefined ? 0 : Number(ours[3]),
    };
  const single = /^(Forward|Backward) (\d{1,7})$/.exec(name);
  if (single !== null)
    return {
      kind: single[1] === 'Forward' ? operationKind.forward : operationKind.backward,
      chunk: null,
      microBatch: Number(single[2]),
      slice: null,
    };
  if (name === 'forward-compute' || name === 'backward-compute')
    return {
      kind: name === 'forward-compute' ? operationKind.forward : operationKind.backward,
      chunk: null,
      microBatch: null,
      slice: null,
    };
  return null;
}

/** Whether the text of an event can be a pass or what follows the passes, or names its track: a quick look, before it is parsed. */
export function mayNamePass(text: string): boolean {
  return (
    /"(?:(?:PP:)?\d+[FBIW]\d|reduce"|optimizer"|[Ff]orward[ -]|[Bb]ackward[ -]|thread_name"|process_name")/.test(text) ||
    /"ph"\s*:\s*"[BE]"/.test(text)
  );
}
