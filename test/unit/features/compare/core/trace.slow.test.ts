import assert from 'node:assert/strict';
import fc from 'fast-check';
import { compareWithTrace, type TraceComparison } from '../../../../../src/features/compare/core/against-trace';
import { readMeasured } from '../../../../../src/features/compare/core/measured';
import { makeTraceReader, type MeasuredTrace } from '../../../../../src/features/compare/core/trace';
import { traceSentences } from '../../../../../src/features/compare/core/trace-labels';
import { ExpectedError } from '../../../../../src/core/errors';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import type { Plan } from '../../../../../src/core/planner/plan';
import { operationKind } from '../../../../../src/core/schedules/schedule';
import { eventsOf, exported, fourStages, planOf, pytorchName, slowed, timelineOf } from './plans';
import { toText } from '../../../sentence-text';

function readTrace(text: string): MeasuredTrace {
  const measured = readMeasured(text, 'run.json');
  if (measured.kind !== 'trace') throw new Error('read as times');
  return measured.trace;
}

function compared(plan: Plan, text: string): TraceComparison {
  return compareWithTrace(plan, readTrace(text), 'run.json');
}

function json(events: readonly object[], head: object = {}): string {
  return JSON.stringify({ ...head, traceEvents: events });
}

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ExpectedError) return error.code;
    throw error;
  }
  return 'nothing thrown';
}

describe('A plan compared with a trace', () => {
  const plan = planOf('1F1B');
  const timeline = timelineOf(plan);

  it('is equal to its own export, whatever the schedule', () => {
    for (const schedule of ['1F1B', 'GPipe', 'TeraPipe', 'Interleaved1F1B', 'ZBVZeroBubble', 'ZB-H1'] as const) {
      const own = makePlan(fourStages(schedule));
      const comparison = compared(own, exported(timelineOf(own)));
      assert.equal(comparison.equal, true, schedule);
      assert.deepEqual([comparison.straggler, comparison.firstLate, comparison.otherOrder], [null, null, null], schedule);
      assert.deepEqual(traceSentences(comparison).map(toText), ['Measured and predicted are equal, pass by pass.']);
    }
  });

  it('names the stage that is 20 % slower, and where they part', () => {
    const comparison = compared(plan, exported(slowed(timeline, 3, 1.2)));
    assert.deepEqual([comparison.equal, comparison.straggler], [false, 3]);
    for (const { stage, ratio } of comparison.stages)
      assert.ok(Math.abs(ratio - (stage === 3 ? 1.2 : 1)) < 1e-3, `stage ${stage}: ${ratio}`);
    assert.ok(traceSentences(comparison).some((one) => /^Stage 3 is the straggler: .* 1\.2x .* 1x\.$/.test(toText(one))));
    const much = compared(plan, exported(slowed(timeline, 3, 1.6)));
    assert.equal(much.firstLate === null, false);
    assert.ok(traceSentences(much).some((one) => /^First late pass: (forward|backward) \d+ on stage \d/.test(toText(one))));
    assert.ok(much.bubble.measured > much.bubble.predicted);
  });

  it('reports that all stages are off alike and what fixes it, naming no straggler', () => {
    const comparison = compared(plan, exported(slowed(timeline, -2, 1.5)));
    assert.equal(comparison.straggler, null);
    assert.ok(Math.abs(comparison.ratio - 1.5) < 1e-6);
    assert.ok(traceSentences(comparison).some((one) => toText(one).includes('calibration.iterationMs')));
  });

  it('does not ask to calibrate by a run with other virtual stages, whose passes are longer', () => {
    const asked = fourStages('1F1B');
    const interleaved = makePlan({ ...asked, layout: { ...asked.layout, virtualStages: 2 } });
    const sentences = traceSentences(compared(interleaved, exported(timeline)))
      .map((one) => toText(one))
      .join('\n');
    // a pass of one chunk of two takes half as long and, under Megatron-LM, a share of a send
    assert.match(sentences, /Passes take (?:2(?:\.\d+)?|1\.9\d)x their predicted time, the pipeline (0\.9|1)[\d.]*x: .* virtual stages/);
    assert.doesNotMatch(sentences, /calibrat/);
  });

  it('reads what PyTorch records, the GPU before the host, and no sends', () => {
    const onGpu = eventsOf(timeline, (pass) => ({ name: pytorchName(pass), cat: 'gpu_user_annotation', pid: pass.stage, tid: 7 }), 5e6);
    const onHost = onGpu.map((event) => ({ ...event, cat: 'user_annotation', tid: 3, dur: event.dur / 50 }));
    const sends = onGpu.map((event) => ({ ...event, name: 'PP:0SEND_F0', dur: 1e6 }));
    const comparison = compared(
      plan,
      json([...onHost, ...sends, ...onGpu], { schemaVersion: 1, distributedInfo: { rank: 0, world_size: 8 } }),
    );
    assert.equal(
      comparison.equal,
      true,
      traceSentences(comparison)
        .map((one) => toText(one))
        .join('\n'),
    );
  });

  it('reads a trace of one rank', () => {
    const one = eventsOf(timeline, (pass) => ({
      name: pytorchName(pass),
      cat: 'user_annotation',
      pid: 1,
      tid: 2,
      stage: pass.stage,
    })).filter((event) => event['stage'] === 2);
    const comparison = compared(plan, json(one));
    assert.deepEqual(comparison.stages.map(({ stage }) => stage), [2]); // prettier-ignore
    assert.ok(Math.abs(comparison.pipeline.measuredMs - comparison.pipeline.predictedMs) < 1e-3);
    assert.ok(traceSentences(comparison).map(toText).includes('Of 4 stages the trace shows 1.'));
  });

  it("reads Megatron-LM's timers of two replicas, known by order where no micro-batch is named", () => {
    const slow = slowed(timeline, 1, 1.2);
    for (const args of [true, false]) {
      const replica = (pid: number) =>
        eventsOf(slow, ({ stage, kind, microBatch }) => ({
          name: kind === operationKind.forward ? 'forward-compute' : 'backward-compute',
          pid,
          tid: 10 * stage + 5 * pid,
          args: args ? { step: 23, model_chunk: 0, mb_id: microBatch } : {},
        }));
      const comparison = compared(plan, json([...replica(0), ...replica(1)]));
      assert.deepEqual([comparison.straggler, comparison.placed.replicas, comparison.placed.foreign], [1, 2, 0]);
      assert.deepEqual(comparison.placed.measured.startMs.map(Math.round), slow.startMs.map(Math.round));
    }
  });

  it('takes the step of median length after the warm-up', () => {
    const factors = [5, 4, 1.3, 1.2];
    let fromUs = 0;
    const events = factors.flatMap((factor) => {
      const step = slowed(timeline, -2, factor);
      const made = eventsOf(step, (pass) => ({ name: pytorchName(pass), pid: pass.stage, tid: 0 }), fromUs);
      fromUs += 1e3 * step.makespanMs + 1e4;
      return made;
    });
    const { placed, ratio } = compared(plan, json(events));
    assert.deepEqual([placed.steps, placed.warmUp, placed.step], [4, 2, 3]);
    assert.ok(Math.abs(ratio - 1.2) < 1e-3);
  });

  it('is compared with the candidate that has its order', () => {
    const many = makePlan(fourStages('1F1B'));
    const gpipe = many.candidates.find(({ id }) => id === 'gpipe')?.timeline;
    assert.ok(gpipe);
    const comparison = compared(many, exported(gpipe));
    assert.deepEqual([comparison.candidate, comparison.chosen, comparison.equal], ['gpipe', false, true]);
    assert.ok(traceSentences(comparison).some((one) => toText(one).includes('Compared with gpipe, whose order matches the trace')));
    const only = compared(plan, exported(gpipe));
    assert.ok(traceSentences(only).some((one) => /^Stage 0 runs forward \d+ where the plan has backward 0\.$/.test(toText(one))), traceSentences(only).map(toText).join('\n')); // prettier-ignore
  });

  it('reads the bare array without its end, brackets in names, and events known by beginning and end', () => {
    const odd = { ph: 'X', name: 'a "}] \\', ts: 0, dur: 1 };
    const events = eventsOf(timeline, (pass) => ({ name: pytorchName(pass), pid: pass.stage, tid: 0, args: odd }));
    assert.equal(compared(plan, `[${events.map((event) => JSON.stringify(event)).join(',\n')},`).equal, true);
    const halves = events.flatMap(({ dur, ...event }) => [
      { ...event, ph: 'B' },
      { ph: 'E', ts: event.ts + dur, pid: event['pid'], tid: 0 },
    ]);
    assert.equal(compared(plan, JSON.stringify(halves)).equal, true);
  });

  it('reads the same however the text is cut in pieces', () => {
    const text = exported(timeline);
    const whole = readTrace(text);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: text.length - 1 }), { maxLength: 12 }), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        const reader = makeTraceReader('run.json');
        for (let piece = 1; piece < at.length; piece++) reader.push(text.slice(at[piece - 1], at[piece]));
        assert.deepEqual(reader.end(), whole);
      }),
      { numRuns: 40 },
    );
  });

  it('refuses what is not a trace of this run, each with a code', () => {
    const read = (text: string) => () => compared(plan, text);
    assert.equal(codeOf(read('{"traceEvents":[')), 'trace-syntax');
    assert.equal(codeOf(read('{"traceEvents":[{"name":"PP:0F0"]}}')), 'trace-syntax');
    assert.equal(codeOf(read('{"traceEvents":[]}')), 'trace-no-passes');
    assert.equal(codeOf(read(json([{ ph: 'X', name: 'aten::mm', ts: 0, dur: 1 }]))), 'trace-no-passes');
    assert.equal(codeOf(read(json([{ ph: 'X', name: 'PP:900F0', ts: 0, dur: 1, pid: 0, tid: 0 }]))), 'trace-stages');
    assert.equal(codeOf(read(json([{ ph: 'X', name: 'PP:0F999', ts: 0, dur: 1, pid: 0, tid: 0 }]))), 'trace-other-run');
    assert.equal(codeOf(read(`{"traceEvents":${'['.repeat(200_000)}`)), 'trace-syntax');
    assert.equal(
      codeOf(() => makeTraceReader('run.json').push('step_ms\n12')),
      'trace-syntax',
    );
  });

  it('never throws anything but an expected error on mangled traces', () => {
    const text = json(eventsOf(timeline, (pass) => ({ name: pytorchName(pass), pid: pass.stage, tid: 0 })).slice(0, 12));
    const mangled = fc.array(
      fc.record({ at: fc.nat(text.length), cut: fc.nat(8), put: fc.constantFrom('', '"', '{', ']', '-1', '1e999', 'null', '\\') }),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    fc.assert(
      fc.property(mangled, (changes) => {
        const changed = changes.reduce((now, { at, cut, put }) => now.slice(0, at) + put + now.slice(at + cut), text);
        const reader = makeTraceReader('run.json');
        try {
          reader.push(changed);
          traceSentences(compareWithTrace(plan, reader.end(), 'run.json'));
        } catch (error) {
          assert.ok(error instanceof ExpectedError, String(error));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is recognised by its content', () => {
    const kindOf = (text: string): string | undefined => {
      try {
        return readMeasured(text, 'run.json').kind;
      } catch (error) {
        assert.ok(error instanceof ExpectedError, String(error));
        return error.code.split('-')[0];
      }
    };
    for (const text of [exported(timeline), '[\n{"ph": "X"}', '[]']) assert.equal(kindOf(text), 'trace', text.slice(0, 40));
    for (const text of ['{"model": {"layers": 2}}', '[1.5, 2]', 'step_ms\n1\n']) assert.equal(kindOf(text), 'times', text);
  });
});
