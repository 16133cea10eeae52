import assert from 'node:assert/strict';
import { newLauncher } from '../../../../../src/core/export/launchers/new-launcher';
import { launchFindings } from '../../../../../src/core/rules/launch-findings';
import type { LauncherReader } from '../../../../../src/core/run/facts';
import type { LaunchSettings } from '../../../../../src/core/launchers/writing/launch-settings';
import { writerOf } from '../../export/launchers/editors';
import { planWith } from '../../export/launchers/plans';
import { shellReader } from '../shell/shell-reader';
import { slurmJob, startScript } from './started-script';

const oneNode: Partial<LaunchSettings> = {};
const fourNodes: Partial<LaunchSettings> = { tensor: 4, pipeline: 4, data: 2, sequenceParallel: true };

function script(changes: Partial<LaunchSettings>): string {
  return newLauncher(planWith(changes), writerOf('megatron-shell')).text;
}

/** Words before the program, and how many follow it. */
function launch(words: readonly string[] | null): readonly string[] {
  const at = words?.findIndex((word) => word.endsWith('.py')) ?? -1;
  assert.ok(words !== null && at !== -1 && words.length > at + 40, words?.join(' ') ?? 'not started');
  return words.slice(0, at + 1);
}

describe('a new script of Megatron-LM, started', () => {
  let read: LauncherReader;

  before(async () => {
    read = await shellReader();
  });

  for (const [what, changes, nodes] of [
    ['1 node', oneNode, '1'],
    ['4 nodes', fourNodes, '4'],
  ] as const)
    // prettier-ignore
    it(`by Slurm on ${what} meets at the first host of the job`, () => {
      const { status, stderr, srun, torchrun } = startScript(script(changes), slurmJob);
      assert.deepEqual([status, stderr], [0, '']);
      assert.equal(srun?.[0], 'torchrun');
      const rendezvous = ['--rdzv-id', '7', '--rdzv-backend', 'c10d', '--rdzv-endpoint', 'node0000:29500'];
      assert.deepEqual(launch(torchrun), [...rendezvous, '--nnodes', nodes, '--nproc-per-node', '8', './pretrain_gpt.py']);
    });

  it('by hand on one node needs no other host', () => {
    const { status, stderr, srun, torchrun } = startScript(script(oneNode));
    assert.deepEqual([status, stderr, srun], [0, '', null]);
    assert.deepEqual(launch(torchrun), ['--standalone', '--nnodes', '1', '--nproc-per-node', '8', './pretrain_gpt.py']);
  });

  it('by hand on each of 4 nodes takes its number and the first host, and asks for what is not set', () => {
    const given = { NODE_RANK: '3', MASTER_ADDR: 'first', MASTER_PORT: '6000', MEGATRON: '/opt/megatron' };
    const { status, srun, torchrun } = startScript(script(fourNodes), given);
    assert.deepEqual([status, srun], [0, null]);
    const hosts = ['--node-rank', '3', '--master-addr', 'first', '--master-port', '6000'];
    assert.deepEqual(launch(torchrun), [...hosts, '--nnodes', '4', '--nproc-per-node', '8', '/opt/megatron/pretrain_gpt.py']);
    assert.equal(launch(startScript(script(fourNodes), { ...given, MASTER_PORT: '' }).torchrun)[5], '29500');
    const lacking = (name: string) => {
      const environment = Object.fromEntries(Object.entries(given).filter(([key]) => key !== name));
      const { status: code, stderr, torchrun: words } = startScript(script(fourNodes), environment);
      assert.deepEqual([code === 0, words], [false, null]);
      return /line \d+: (.*)/.exec(stderr)?.[1];
    };
    assert.equal(lacking('NODE_RANK'), 'NODE_RANK: set it to the number of this node, 0 to 3');
    assert.equal(lacking('MASTER_ADDR'), 'MASTER_ADDR: set it to the host name of node 0');
  });

  it('of a fork with token slices starts as the others', () => {
    const sliced = { runtime: 'seq1f1b', slices: 4, rule: 'average', lengths: [1024, 1024, 1024, 1024] } as const;
    const text = script({ ...fourNodes, sliced, slices: 4, schedule: 'TeraPipe' });
    const { torchrun, variables } = startScript(text, slurmJob);
    assert.equal(launch(torchrun)[5], 'node0000:29500');
    assert.deepEqual(variables, { CUDA_DEVICE_MAX_CONNECTIONS: '1' });
  });

  it('sets the variables that its arguments need, and no others', () => {
    const variables = (changes: Partial<LaunchSettings>) => startScript(script(changes), slurmJob).variables;
    const expandable = { PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' };
    const one = { CUDA_DEVICE_MAX_CONNECTIONS: '1' };
    assert.deepEqual(variables(oneNode), expandable);
    assert.deepEqual(variables({ tensor: 2, data: 4 }), { ...one, ...expandable });
    assert.deepEqual(variables({ context: 2, data: 4 }), { ...one, ...expandable });
    assert.deepEqual(variables({ tensor: 2, data: 4, gpu: 'MI300X', computeCapability: null }), one);
    // release 0.12 asks for it on Blackwell too
    const blackwell = { tensor: 2, data: 4, gpu: 'B200', computeCapability: '10.0' };
    assert.deepEqual(variables(blackwell), { ...one, ...expandable });
    assert.deepEqual(variables({ ...blackwell, gemmPrecision: 'nvfp4' }), expandable);
    assert.deepEqual(variables({ tensor: 2, data: 4, cudaGraphs: 'layers' }), one);
    const experts = { model: { ...planWith().model, experts: { count: 8, active: 2 } }, expert: 4, expertTensor: 1 };
    assert.deepEqual(variables({ ...experts, tensor: 2, data: 4, overlapExpertComm: true }), expandable);
    const own = startScript(script(oneNode), { PYTORCH_CUDA_ALLOC_CONF: 'backend:native' });
    assert.deepEqual([own.status, own.variables], [0, {}]);
  });

  it('is read without a remark that its launch depends on who starts it', () => {
    for (const [changes, nodes] of [
      [oneNode, 1],
      [fourNodes, 4],
    ] as const) {
      // prettier-ignore
      const launcher = read('train.sh', script(changes));
      assert.deepEqual([launcher.facts.nodes?.value, launcher.facts.gpusPerNode?.value], [nodes, 8]);
      const codes = [...launcher.remarks, ...launchFindings(launcher)].map(({ code }) => code);
      assert.deepEqual(codes.filter((code) => /^(?:flag|shell|gpu|world)-/.test(code)), []); // prettier-ignore
    }
  });
});
