import { ExpectedError } from '../../../core/errors';
import { fileStart } from '../../../core/languages/json/document';
import { formatCount } from '../../../core/format';
import { sentence } from '../../../core/sentence';
import { heldParts, type HeldPart, type Holder, type MemorySnapshot } from './evidence';
import { unpickle, type Pickled, type PickledDict } from './unpickle';

/*
 * `torch.cuda.memory._dump_snapshot`: segments with their blocks, and the trace of what the allocator did, newest last
 * (torch/cuda/memory.py, `_snapshot`; read at 2.0 to 2.15).
 */

/** Entries that are looked at, at most: lists of a pickle may be the same one, so that a small file has many. */
const mostEntries = 16_000_000;
const mostHolders = 8;
/** Frames of a stack that are looked at: those nearest to the allocation. */
const mostFrames = 64;
/** Letters of a name in a frame: many entries may share one long text of the pickle. */
const mostLetters = 500;
const windows = 8;

/**
 * What a snapshot holds of the device that ran out of memory, or else of the one that reserves most.
 * @throws ExpectedError as `unpickle`; `snapshot-syntax` where the data is none of a snapshot.
 */
export function readSnapshot(bytes: Uint8Array, file: string): MemorySnapshot {
  const snapshot = unpickle(bytes, file);
  const segments = listIn(snapshot, 'segments');
  if (!isDict(snapshot) || segments === null) {
    const remedy = sentence`give one of torch.cuda.memory._dump_snapshot`;
    throw new ExpectedError('snapshot-syntax', sentence`The pickle is not a memory snapshot: it has no segments`, remedy, fileStart(file));
  }
  const reader = new SnapshotReader(file);
  const traces = (listIn(snapshot, 'device_traces') ?? []).map((trace) => (isList(trace) ? trace.items : []));
  const device = chosenDevice(segments, traces, reader);
  const own = segments.filter((segment) => numberIn(segment, 'device', 0) === device);
  return summary(own, traces[device] ?? [], { device, isExpandable: isExpandableSet(snapshot), reader });
}

interface Reading {
  readonly device: number;
  readonly isExpandable: boolean;
  readonly reader: SnapshotReader;
}

/** Counts what is looked at. */
class SnapshotReader {
  private entries = 0;

  constructor(private readonly file: string) {}

  look<T>(entry: T): T {
    if (++this.entries <= mostEntries) return entry;
    const remedy = sentence`record less: _record_memory_history(max_entries=100000, stacks="python")`;
    throw new ExpectedError(
      'snapshot-too-large',
      sentence`The snapshot has more than ${formatCount(mostEntries)} entries`,
      remedy,
      fileStart(this.file),
    );
  }
}

function chosenDevice(segments: readonly Pickled[], traces: readonly (readonly Pickled[])[], reader: SnapshotReader): number {
  const ranOut = traces.findIndex((trace) => trace.some((entry) => textIn(reader.look(entry), 'action') === 'oom'));
  if (ranOut >= 0) return ranOut;
  const reserved = new Map<number, number>();
  for (const segment of segments) {
    const device = numberIn(reader.look(segment), 'device', 0);
    reserved.set(device, (reserved.get(device) ?? 0) + numberIn(segment, 'total_size', 0));
  }
  return [...reserved].reduce((most, one) => (one[1] > most[1] ? one : most), [0, -1])[0];
}

function isExpandableSet(snapshot: PickledDict): boolean {
  const set = valueIn(valueIn(snapshot, 'allocator_settings'), 'expandable_segments');
  return set === true || set === 'True';
}

function summary(segments: readonly Pickled[], trace: readonly Pickled[], { device, isExpandable, reader }: Reading): MemorySnapshot {
  const live = new Map<string, { part: HeldPart; bytes: number; blocks: number }>();
  let [reservedBytes, allocatedBytes, poolBytes, largestFreeBytes, freeBlocks] = [0, 0, 0, 0, 0];
  for (const segment of segments) {
    const isPrivate = isPrivatePool(valueIn(reader.look(segment), 'segment_pool_id'));
    reservedBytes += numberIn(segment, 'total_size', 0);
    if (isPrivate) poolBytes += numberIn(segment, 'total_size', 0);
    for (const block of listIn(segment, 'blocks') ?? []) {
      const size = numberIn(reader.look(block), 'size', 0);
      if (textIn(block, 'state') === 'inactive') {
        largestFreeBytes = Math.max(largestFreeBytes, size);
        freeBlocks++;
        continue;
      }
      allocatedBytes += size;
      const { line, part } = heldBy(readFrames(block, reader), isPrivate);
      const held = live.get(line) ?? { part, bytes: 0, blocks: 0 };
      live.set(line, { part: held.part, bytes: held.bytes + size, blocks: held.blocks + 1 });
    }
  }
  const holders = [...live].map(([line, held]): Holder => ({ line, ...held })).toSorted((a, b) => b.bytes - a.bytes);
  const heldBytes = (part: HeldPart): number => holders.reduce((sum, one) => sum + (one.part === part ? one.bytes : 0), 0);
  const after = afterError(trace, reader);
  return {
    device,
    reservedBytes: reservedBytes - after.reserved,
    allocatedBytes: allocatedBytes - after.allocated,
    poolBytes,
    largestFreeBytes,
    freeBlocks,
    segments: segments.length,
    isExpandable: isExpandable || segments.some((segment) => valueIn(segment, 'is_expandable') === true),
    oom: after.oom,
    holders: holders.slice(0, mostHolders),
    parts: Object.fromEntries(heldParts.map((part) => [part, heldBytes(part)])) as Record<HeldPart, number>,
    lows: windowLows(trace, allocatedBytes),
  };
}

/** What the allocator did since the last error: to be taken off what there is now. */
function afterError(trace: readonly Pickled[], reader: SnapshotReader) {
  let [allocated, reserved] = [0, 0];
  for (const entry of trace.toReversed()) {
    const size = numberIn(entry, 'size', 0);
    switch (textIn(entry, 'action')) {
      case 'oom': {
        const free = valueIn(entry, 'device_free');
        const freeBytes = typeof free === 'number' ? free : null;
        return { allocated, reserved, oom: { requestBytes: size, freeBytes, frames: readFrames(entry, reader) } };
      }
      case 'alloc':
        allocated += size;
        break;
      case 'free_completed':
        allocated -= size;
        break;
      case 'segment_alloc':
      case 'segment_map':
        reserved += size;
        break;
      case 'segment_free':
      case 'segment_unmap':
        reserved -= size;
        break;
      default:
    }
  }
  return { allocated: 0, reserved: 0, oom: null };
}

/** The lowest allocated memory in each eighth of the trace, walked back from what is allocated at its end. */
function windowLows(trace: readonly Pickled[], allocatedBytes: number): readonly number[] {
  if (trace.length < 32 * windows) return [];
  const lows: number[] = Array.from({ length: windows }, () => Infinity);
  let bytes = allocatedBytes;
  for (const [back, entry] of trace.toReversed().entries()) {
    const window = Math.floor((windows * (trace.length - 1 - back)) / trace.length);
    lows[window] = Math.min(lows[window] ?? Infinity, bytes);
    const action = textIn(entry, 'action');
    if (action === 'alloc') bytes -= numberIn(entry, 'size', 0);
    else if (action === 'free_completed') bytes += numberIn(entry, 'size', 0);
  }
  return lows;
}

function isPrivatePool(id: Pickled | undefined): boolean {
  return isList(id) && id.items.some((part) => part !== 0);
}

/** `file:line function`, innermost first. */
function readFrames(entry: Pickled, reader: SnapshotReader): readonly string[] {
  return (listIn(entry, 'frames') ?? []).slice(0, mostFrames).map((frame) => {
    const named = (key: string): string => textIn(frame, key).slice(0, mostLetters);
    return `${named('filename')}:${numberIn(reader.look(frame), 'line', 0)} ${named('name')}`;
  });
}

/** Frames nearest to the allocation that name the loss; further out every stack of a step does. */
const innermost = 4;

const partPatterns: readonly (readonly [HeldPart, RegExp, number])[] = [
  ['graphs', /make_graphed_callables|create_cudagraphs|capture_begin|torch\/cuda\/graphs|cudagraph_trees|capture_model/i, Infinity],
  ['optimizer', /\boptim\/|adam|_init_group|exp_avg|optim(?:izer)?\.step\(|distrib_optimizer|fp32_from_float16/i, Infinity],
  ['loss', /cross_entropy|loss\.py|logits|lm_head|output_layer|log_softmax|logsumexp/i, innermost],
  ['gradients', /run_backward|\bbackward\b|main_grad|grad_buffer|param_and_grad_buffer/i, Infinity],
  ['weights', /\b__init__\b|reset_parameters|_apply\b|load_state_dict|from_pretrained|to_empty|init_weights|materialize/, Infinity],
  ['activations', /\bforward\b|_call_impl|checkpoint/, Infinity],
];

/** What memory is by the stack that allocated it, innermost frame first: the part that names itself most clearly counts. */
export function partOfStack(frames: readonly string[]): HeldPart {
  return partPatterns.find(([, pattern, depth]) => frames.slice(0, depth).some((frame) => pattern.test(frame)))?.[0] ?? 'unknown';
}

function heldBy(frames: readonly string[], isPrivate: boolean): { readonly line: string; readonly part: HeldPart } {
  const own = frames.find((frame) => !/(?:^|\/)torch\/|^\?\?|^<frozen|\.(?:cpp|cc|cu|h)\b/.test(frame)) ?? frames[0] ?? 'no stack recorded';
  return { line: own, part: isPrivate ? 'graphs' : partOfStack(frames) };
}

function isDict(value: Pickled | undefined): value is PickledDict {
  return typeof value === 'object' && value?.kind === 'dict';
}

function isList(value: Pickled | undefined): value is Extract<Pickled, { kind: 'list' }> {
  return typeof value === 'object' && value?.kind === 'list';
}

/** The last of its values, as Python keeps it. */
function valueIn(value: Pickled | undefined, key: string): Pickled | undefined {
  if (!isDict(value)) return undefined;
  for (let at = value.items.length - 2; at >= 0; at -= 2) if (value.items[at] === key) return value.items[at + 1];
  return undefined;
}

function listIn(value: Pickled | undefined, key: string): readonly Pickled[] | null {
  const found = valueIn(value, key);
  return isList(found) ? found.items : null;
}

function numberIn(value: Pickled | undefined, key: string, otherwise: number): number {
  const found = valueIn(value, key);
  return typeof found === 'number' && Number.isFinite(found) && found >= 0 ? found : otherwise;
}

function textIn(value: Pickled | undefined, key: string): string {
  const found = valueIn(value, key);
  return typeof found === 'string' ? found : '';
}
