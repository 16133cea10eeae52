import { ExpectedError } from '../../../core/errors';
import { formatCount } from '../../../core/format';
import { liveParts, livingParts } from '../../../core/memory-model/curve';
import type { MemoryPart, StageMemory } from '../../../core/memory-model/profile';
import { chosenCandidate, type Plan } from '../../../core/planner/plan';
import { sentence, type Sentence } from '../../../core/sentence';
import { pickle, type Plain } from './pickle';

/** Most entries of all traces; a viewer in a browser takes no more. */
const mostEvents = 400_000;
/** Blocks are multiples of this, as of PyTorch's allocator. */
const blockBytes = 512;
const firstAddress = 2 ** 32;

/** What is held all the time, in the order in which a run allocates it. */
const staticParts = ['weights', 'gradients', 'dummyGradients', 'workspaces', 'optimizer'] as const satisfies readonly MemoryPart[];

/** Names by which a person, and `partOfStack` of this folder, knows a part in a stack of the viewer. */
const partNames: Readonly<Record<MemoryPart, string>> = {
  weights: 'weights (init_weights)',
  gradients: 'gradients (main_grad)',
  dummyGradients: 'dummy gradients (main_grad)',
  workspaces: 'workspaces and buffers',
  optimizer: 'optimizer (exp_avg)',
  activations: 'activations (forward)',
  keysValues: 'keys and values (forward)',
  logits: 'logits and loss',
  keptForWeights: 'kept for weight gradients (backward)',
  backwardOperation: 'working set of an operation (backward)',
};

interface Block {
  readonly address: number;
  readonly size: number;
  readonly part: MemoryPart;
}

/**
 * The planned step as PyTorch's allocator would record it: a pickle of the form of `torch.cuda.memory._dump_snapshot` for the memory viewer
 * (pytorch.org/memory_viz), a device for each stage. Tensors of one part that come at once are one block.
 * @throws ExpectedError `snapshot-too-large` for a step of too many operations.
 */
export function predictedSnapshot(plan: Plan): Uint8Array {
  const { memory, timeline } = chosenCandidate(plan);
  if (timeline === null) throw tooLarge(sentence`The step has too many operations for a timeline of them`);
  const operations = timeline.kind.length;
  if (2 * livingParts.length * operations > mostEvents)
    throw tooLarge(sentence`The step has ${formatCount(operations)} operations, more than the memory viewer shows`);
  const devices = memory.stages.map((stage) => recorded(stage, liveParts(timeline, memory.chunks, stage.stage, stage.staticBytes)));
  return pickle({
    segments: devices.map(({ segment }) => segment),
    device_traces: devices.map(({ trace }) => trace),
    allocator_settings: { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True', expandable_segments: true },
  });
}

function tooLarge(problem: Sentence): ExpectedError {
  return new ExpectedError(
    'snapshot-too-large',
    problem,
    sentence`set a smaller training.globalBatch: stages fill with as many micro-batches as there are stages`,
  );
}

/** What the allocator of one stage does in a step. */
function recorded(stage: StageMemory, curve: ReturnType<typeof liveParts>): { readonly segment: Plain; readonly trace: readonly Plain[] } {
  const allocator = new Recorder();
  for (const part of staticParts) allocator.grow(part, stage.parts[part], 0);
  for (let point = 1; point < curve.timeMs.length; point++) {
    const timeUs = Math.round(1e3 * (curve.timeMs[point] ?? 0));
    const changes = livingParts.map((part) => [part, (curve.parts[part][point] ?? 0) - (curve.parts[part][point - 1] ?? 0)] as const);
    // what is freed goes first, so that the highest point is the plan's peak
    for (const [part, bytes] of changes) if (bytes < 0) allocator.shrink(part, -bytes, timeUs);
    for (const [part, bytes] of changes) if (bytes > 0) allocator.grow(part, bytes, timeUs);
  }
  return { segment: allocator.segment(stage.stage), trace: allocator.trace };
}

/** Blocks side by side in one segment, the first free place that is large enough first. */
class Recorder {
  readonly trace: Plain[] = [];
  /** By address. */
  private blocks: Block[] = [];
  private end = firstAddress;

  grow(part: MemoryPart, bytes: number, timeUs: number): void {
    const size = blockBytes * Math.round(bytes / blockBytes);
    if (size <= 0) return;
    let [address, index] = [firstAddress, 0];
    for (; index < this.blocks.length; index++) {
      const next = this.blocks[index];
      if (next === undefined || next.address - address >= size) break;
      address = next.address + next.size;
    }
    const block = { address, size, part };
    this.blocks.splice(index, 0, block);
    this.end = Math.max(this.end, address + size);
    this.record('alloc', block, timeUs);
  }

  /** Frees the oldest blocks of a part; of the last one, what is left of it comes again. */
  shrink(part: MemoryPart, bytes: number, timeUs: number): void {
    let left = blockBytes * Math.round(bytes / blockBytes);
    for (const block of this.oldest(part)) {
      if (left <= 0) break;
      this.blocks = this.blocks.filter((other) => other !== block);
      this.record('free_requested', block, timeUs);
      this.record('free_completed', block, timeUs);
      left -= block.size;
    }
    if (left < 0) this.grow(part, -left, timeUs);
  }

  /** Free places are blocks too, inactive ones, so that blocks fill the segment. */
  segment(device: number): Plain {
    const blocks: Plain[] = [];
    let address = firstAddress;
    const free = (until: number): void => {
      if (until > address) blocks.push(blockEntry({ address, size: until - address }, 'inactive', []));
    };
    for (const block of this.blocks) {
      free(block.address);
      blocks.push(blockEntry(block, 'active_allocated', partStack(block)));
      address = block.address + block.size;
    }
    free(this.end);
    const allocated = this.blocks.reduce((sum, { size }) => sum + size, 0);
    return {
      device,
      address: firstAddress,
      total_size: this.end - firstAddress,
      allocated_size: allocated,
      active_size: allocated,
      requested_size: allocated,
      stream: 0,
      segment_type: 'large',
      segment_pool_id: [0, 0],
      is_expandable: true,
      frames: [],
      blocks,
    };
  }

  private readonly ages = new Map<Block, number>();

  private oldest(part: MemoryPart): Block[] {
    return this.blocks.filter((block) => block.part === part).sort((a, b) => (this.ages.get(a) ?? 0) - (this.ages.get(b) ?? 0));
  }

  private record(action: string, block: Block, timeUs: number): void {
    if (action === 'alloc') this.ages.set(block, this.trace.length);
    if (action === 'free_completed') this.ages.delete(block);
    this.trace.push({ action, addr: block.address, size: block.size, stream: 0, time_us: timeUs, frames: partStack(block) });
  }
}

function blockEntry({ address, size }: Pick<Block, 'address' | 'size'>, state: string, frames: Plain): Plain {
  return { address, size, requested_size: size, state, frames };
}

function partStack({ part }: Block): Plain {
  return [{ name: partNames[part], filename: 'predicted by terapipe', line: 0 }];
}
