import assert from 'node:assert/strict';
import { stageLimits } from '../../../../src/core/time-model/limits';
import { megatronBoundary } from '../../../../src/core/time-model/boundary';
import { stageCost } from '../../../../src/core/time-model/stage-cost';
import { gpt, llama3, request } from '../../../golden/requests';

const middle = { layers: 2, first: false, last: false };
const flash = { attention: 'flash', precision: 'bf16', dropout: false } as const;

function limitsOf(wanted: ReturnType<typeof request>, tokens = 4096, batch = 1) {
  return stageLimits(wanted, middle, [{ batch, tokens, context: 0 }], (sequences, length) => megatronBoundary(wanted, sequences, length));
}

describe('what limits a stage', () => {
  it('adds up to the time of the stage, sends apart', () => {
    const wanted = request('A100-80GB', llama3('70b', 8), {
      training: { ...flash, sequenceParallel: true },
      layout: { tensor: 8, pipeline: 4 },
    });
    const { ms } = limitsOf(wanted);
    const { forwardMs, backwardMs } = stageCost(wanted, middle.layers, middle)(1, 4096, 0);
    const sum = Object.entries(ms).reduce((total, [name, own]) => total + (name === 'send' ? 0 : own), 0);
    assert.ok(Math.abs(sum / (forwardMs + backwardMs) - 1) < 1e-9);
    for (const [name, own] of Object.entries(ms)) assert.ok(own >= 0, name);
  });

  it('is compute for wide layers, and kernel-launch overhead for narrow ones', () => {
    assert.equal(limitsOf(request('A100-80GB', llama3('405b', 8), { training: flash, layout: {} })).limiter, 'math');
    assert.equal(limitsOf(request('A100-80GB', gpt(8, 256, 4, 0), { training: flash, layout: {} }), 128).limiter, 'issue');
  });

  it('is memory where attention scores are written out', () => {
    const wanted = request('A100-80GB', gpt(8, 512, 32, 0), { training: { precision: 'bf16' }, layout: {} });
    assert.equal(limitsOf(wanted, 16384).limiter, 'memory');
  });

  it('is exchanges where tensor parallelism crosses nodes, and sends where a slow network joins the stages', () => {
    const crossing = request('A100-80GB', llama3('70b', 8), { training: flash, layout: { tensor: 64 } });
    assert.equal(limitsOf(crossing).limiter, 'exchange');
    const joined = request('A100-80GB', gpt(8, 1024, 16, 0), { training: flash, layout: { pipeline: 4, data: 8 } });
    const slow = { ...joined, cluster: { ...joined.cluster, links: { ...joined.cluster.links, nicGBps: 0.5 } } };
    assert.equal(limitsOf(slow).limiter, 'send');
  });
});
