import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Finding } from '../../../../src/core/findings';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { formatFindings } from '../../../../src/core/rules/plan/format-findings';
import { say } from '../../../../src/core/sentence';
import { runOfLauncher } from '../../../../src/core/launchers/launcher-run';
import { loadObject } from '../config-files/files';
import { profileWith, requestWith } from '../measured-profile/profiles';
import { shellReader } from '../launchers/shell/shell-reader';

const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;
const model = { layers: 4, hidden: 1024, heads: 8, vocab: 1024 };

interface Case {
  readonly gpu?: string;
  readonly training: object;
}

async function findings({ gpu, training }: Case): Promise<readonly Finding[]> {
  const run = await loadObject({
    model,
    ...(gpu === undefined ? {} : { cluster: { gpu } }),
    training: { sequenceLength: 1024, globalBatch: 8, ...training },
    layout: { tensor: 1, pipeline: 2, data: 1 },
    schedule: '1F1B',
  });
  return formatFindings(run, makePlan(resolveRun(run, defaults)));
}

const severities = async (asked: Case) => (await findings(asked)).map(({ severity }) => severity);
const megatron = (format: object) => ({ runtime: 'megatron', gemmPrecision: 'fp8', ...format });

describe('bf16 on a GPU without bf16 tensor cores', () => {
  it('is a warning in a script, which names no GPU', async () => {
    const read = await shellReader();
    const script = (precision: string) =>
      `torchrun --nproc-per-node 8 --nnodes 1 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 ${precision}`;
    const codes = (precision: string, gpu: 'V100-32GB' | 'A100-40GB') => {
      const run = runOfLauncher(read('run.sh', script(precision)), 'run', null);
      const found = formatFindings(run, makePlan(resolveRun(run, { ...defaults, gpu })));
      return found.map(({ code, severity, message }) => `${severity} ${code} ${say(message)}`);
    };
    assert.deepEqual(codes('--bf16', 'V100-32GB'), ['warning precision-slow bf16 runs at 15.7 TFLOP/s on V100-32GB, fp16 at 125']);
    assert.deepEqual(codes('--fp16', 'V100-32GB'), []);
    assert.deepEqual(codes('--bf16', 'A100-40GB'), []);
  });
});

describe('a number format that a GPU does not compute', () => {
  it('is an error where Transformer Engine stops, in its words, and the fix takes what the GPU computes', async () => {
    const [mxfp8, ...others] = await findings({ gpu: 'H100-80GB', training: megatron({ fp8Recipe: 'mxfp8' }) });
    assert.deepEqual(others, []);
    assert.deepEqual([mxfp8!.code, mxfp8!.severity], ['gpu-number-format', 'error']);
    assert.equal(
      say(mxfp8!.message),
      'MXFP8 does not run on H100-80GB, whose compute capability is 9.0: "Device compute capability 10.0 or higher required for MXFP8 execution."',
    );
    assert.match(mxfp8!.fixes[0]!.edits.map(({ newText }) => newText).join(), /tensorwise/);
    const [fp8] = await findings({ gpu: 'A100-80GB', training: megatron({}) });
    assert.match(say(fp8!.message), /^FP8 does not run on A100-80GB, .* is 8\.0: "Device compute capability 8\.9 /);
    assert.equal(say(fp8!.fixes[0]!.title), 'Multiply in bf16 or fp16');
    const [own] = await findings({ gpu: 'A100-80GB', training: { ...megatron({}), runtime: 'nanotron' } });
    assert.deepEqual([own!.severity, say(own!.message)], ['warning', 'FP8 does not run on A100-80GB, whose compute capability is 8.0']);
  });

  it('is none where the GPU computes it, and none of GPUs whose compute capability is not known', async () => {
    for (const [gpu, format] of [
      ['H100-80GB', {}],
      ['H100-80GB', { fp8Recipe: 'blockwise' }],
      ['L40S', {}],
      ['B200', { fp8Recipe: 'mxfp8' }],
      ['GB300', { gemmPrecision: 'nvfp4' }],
      ['MI300X', { fp8Recipe: 'mxfp8' }],
      ['A100-80GB', { gemmPrecision: undefined }],
    ] as const)
      assert.deepEqual(await severities({ gpu, training: megatron(format) }), [], `${gpu} ${JSON.stringify(format)}`);
  });

  it('depends on the recipe, and on the runtime', async () => {
    assert.deepEqual(await severities({ gpu: 'L40S', training: megatron({ fp8Recipe: 'blockwise' }) }), ['error']);
    assert.deepEqual(await severities({ gpu: 'H100-80GB', training: megatron({ gemmPrecision: 'nvfp4' }) }), ['error']);
    assert.deepEqual(await severities({ gpu: 'RTX5090', training: megatron({ fp8Recipe: 'mxfp8' }) }), ['error']);
    const torchtitan = { runtime: 'torchtitan', gemmPrecision: 'fp8' };
    assert.deepEqual(await severities({ gpu: 'RTX5090', training: { ...torchtitan, fp8Recipe: 'mxfp8' } }), []);
    assert.deepEqual(await severities({ gpu: 'A100-80GB', training: { ...torchtitan, fp8Recipe: 'mxfp8' } }), ['error']);
    // its float8.emulate runs it all the same
    assert.deepEqual(await severities({ gpu: 'A100-80GB', training: torchtitan }), ['warning']);
    assert.deepEqual(await severities({ gpu: 'A100-80GB', training: { gemmPrecision: 'fp8' } }), ['warning']);
  });

  it('is information where no file names the GPU', async () => {
    const [finding] = await findings({ training: megatron({ fp8Recipe: 'mxfp8' }) });
    assert.equal(finding!.severity, 'information');
    assert.match(say(finding!.message), /^MXFP8 does not run on H100-80GB, which is assumed/);
  });

  it("is at the flag of a launcher's file", async () => {
    const script = `torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 \
  --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 16 --bf16 --fp8-format e4m3 --fp8-recipe mxfp8 --vocab-size 1024
`;
    const run = runOfLauncher((await shellReader())('run.sh', script), 'run', null);
    const given = { ...run, gpu: (await loadObject({ model, cluster: { gpu: 'H100-80GB' } })).gpu! };
    const [finding] = formatFindings(given, makePlan(resolveRun(given, defaults)));
    assert.equal(finding!.severity, 'error');
    assert.equal(script.slice(finding!.place.range.start, finding!.place.range.end), 'mxfp8');
    assert.deepEqual(finding!.fixes, []);
  });
});

describe('a plan in bf16 from a profile in fp16', () => {
  const planned = (precision: 'fp16' | 'bf16') => {
    const request = requestWith({ training: { precision } });
    const plan = makePlan({ ...request, profile: { file: 'a100.json', profile: profileWith() } });
    return { plan, found: loadObject({ model }).then((run) => formatFindings(run, plan)) };
  };

  it('is information, with what the error bar is wider by', async () => {
    const [bf16, fp16] = [planned('bf16'), planned('fp16')];
    const [finding, ...others] = await bf16.found;
    assert.deepEqual([finding?.code, finding?.severity, others], ['profile-precision', 'information', []]);
    assert.match(say(finding!.message), /^The plan is in bf16, and its profile was measured in fp16: its error bar is 5 % wider$/);
    assert.deepEqual(await fp16.found, []);
    assert.equal(bf16.plan.cost.errorPercent, fp16.plan.cost.errorPercent + 5);
    assert.match(say(bf16.plan.cost.errorBecause), /fp16 was measured for bf16 \(5 % more, assumed\)/);
  });
});
