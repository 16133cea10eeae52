// The product's child, whose stage 1 ends when it is asked for its third step of the schedule (after the unsliced and the warm-up one).
import '../../../../../src/profiler/child';

let stages: readonly number[] = [];
let steps = 0;
process.on('message', (message: { readonly type: string; readonly stages?: readonly number[] }) => {
  if (message.type === 'open') stages = message.stages ?? [];
  if (message.type !== 'step' || !stages.includes(1)) return;
  steps += 1;
  if (steps < 4) return;
  console.error('Error: out of luck');
  process.exit(7);
});
