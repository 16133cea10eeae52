// A profiler child that misbehaves as SCRIPT sets. Every time it reports is its own process id, so that a test sees which process answered.
import { writeFileSync, writeSync } from 'node:fs';
import type { ProfilerReply, ProfilerRequest } from '../../../src/protocol/profiler';

const script = process.env['SCRIPT'] ?? '';
const gib = 2 ** 30;
let runs = 0;

const send = (reply: ProfilerReply): void => {
  process.send?.(reply);
};

/** Works for ever, having left the file SIGN as a sign that it does. */
function spin(): never {
  const sign = process.env['SIGN'];
  if (sign !== undefined) writeFileSync(sign, '');
  for (;;);
}

function open({ id, provider }: Extract<ProfilerRequest, { type: 'open' }>): void {
  if (script === 'crashes on webgpu' && provider === 'webgpu') {
    writeSync(2, 'driver: no such chip\n');
    process.abort();
  }
  if (script === 'hangs while loading') spin();
  const device = { kind: 'cpu', name: 'scripted', memoryBytes: null, driver: null } as const;
  send({ type: 'opened', id, device, attention: { forward: 'a', backward: 'b' }, versions: {}, tf32: null });
}

function measure(id: number): void {
  runs += 1;
  if (script === 'crashes in the second run' && runs === 2) {
    writeSync(2, '\u001b[1;31mterminate called after throwing\u001b[m\n');
    process.abort();
  }
  if (script === 'exits') process.exit(7);
  if (script === 'throws') throw new TypeError('x is not a function');
  if (script === 'hangs') spin();
  if (script === 'sends garbage') {
    process.send?.({ type: 'measured', id, forwardMs: 'fast' });
    return;
  }
  if (script === 'loses the device') {
    send({ type: 'failed', id, message: 'CUDA failure 700: an illegal memory access was encountered ; GPU=0' });
    return;
  }
  if (script === 'logs out of memory' && runs === 2) {
    writeSync(2, '[E:onnxruntime:Default, webgpu_context.cc:120 operator()] WebGPU device error(2): Out of memory\n');
  }
  const rssBytes = script === 'grows' ? runs * gib : 1;
  const times = { forwardMs: process.pid, backwardMs: process.pid, forwardInputsMs: 0, backwardInputsMs: 0 };
  send({ type: 'measured', id, ...times, rssBytes, workMs: 1, waitedMs: 0 });
}

process.on('message', (message: ProfilerRequest) => {
  if (message.type === 'open') open(message);
  else if (message.type === 'measure') measure(message.id);
  else send({ type: 'placement', id: message.id, operators: [], launches: { perNodeUs: 1, perProductUs: 1, forwardMs: 1, backwardMs: 1 } });
});
process.on('disconnect', () => process.exit());
