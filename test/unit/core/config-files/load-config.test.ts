import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { configError } from '../../../../src/core/errors';
import { fileStart } from '../../../../src/core/languages/json/document';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { parameterCount } from '../../../../src/core/model/parameters';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { sentence } from '../../../../src/core/sentence';
import { toText, plainSource } from '../../sentence-text';

type ConfigHost = Parameters<typeof loadConfig>[2];

/** Files in memory; nothing else can be read. */
function world(files: Readonly<Record<string, string>>): ConfigHost & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    read: (_, path) => {
      asked.push(path);
      const text = files[path];
      if (text !== undefined) return Promise.resolve({ file: path, text });
      return Promise.reject(configError('config-not-found', sentence`There is no such file`, sentence`fix the path`, fileStart(path)));
    },
    shell: () => Promise.reject(new Error('no shell here')),
  };
}

const nemo = `trainer: { num_nodes: 1, devices: 8 }
model:
  tensor_model_parallel_size: 2
  num_attention_heads: 16
  micro_batch_size: 1
  global_batch_size: 16
`;
const llama = JSON.stringify({ model_type: 'llama', num_hidden_layers: 8, hidden_size: 512, num_attention_heads: 8, vocab_size: 1000 });

describe('loading a launcher', () => {
  it('joins the config.json next to it and shows where the two disagree', async () => {
    const { run, model, findings } = await loadConfig('train.yaml', nemo, world({ 'config.json': llama }));
    assert.equal(model?.file, 'config.json');
    assert.deepEqual([run?.model.layers.value, run?.model.heads.value], [8, 16]);
    assert.ok(findings.some(({ code }) => code === 'two-files-disagree'));
  });

  it('takes the layers of a hybrid from the launcher that sets them, not from another model next to it', async () => {
    const text = `${nemo}  num_layers: 8
  hidden_size: 512
  ffn_hidden_size: 2048
  hybrid_override_pattern: "M-M*-M-M"
`;
    const mamba = JSON.stringify({ model_type: 'mamba2', num_hidden_layers: 24 });
    for (const config of [mamba, llama]) {
      const { run } = await loadConfig('train.yaml', text, world({ 'config.json': config }));
      assert.ok(run);
      const { layerKinds = [], layers } = toModelSpec(run.model, run.traits);
      assert.equal(layers, 8);
      assert.equal(layerKinds.map(({ mixer = 'attention' }) => mixer[0]).join(''), 'snsansns');
    }
  });

  describe('of Megatron-LM, also with a model config, where no flag sets otherwise', () => {
    const text = (more: string): string => `MODEL_ARGS:
  --num-layers: 8
  --hidden-size: 512
  --num-attention-heads: 8
  --seq-length: 1536
  --micro-batch-size: 1
  --global-batch-size: 16
  --tensor-model-parallel-size: 2
  --pipeline-model-parallel-size: 2
${more}`;
    const trainingOf = async (more: string, files: Record<string, string>) => {
      const { run } = await loadConfig('train.yaml', text(more), world(files));
      return run?.training ?? assert.fail();
    };

    for (const files of [{}, { 'config.json': llama }]) {
      const modelConfig = Object.keys(files).join() || 'no model config';

      it(`trains with its own dropout and loss, with ${modelConfig}`, async () => {
        const trained = async (more: string) => {
          const { dropout, fusedCrossEntropy } = await trainingOf(`  --bf16: true\n${more}`, files);
          return [dropout?.value, fusedCrossEntropy?.value];
        };
        assert.deepEqual(await trained(''), [true, false]);
        assert.deepEqual(await trained('  --hidden-dropout: 0.0\n  --attention-dropout: 0.0\n  --cross-entropy-loss-fusion: true\n'), [
          false,
          true,
        ]);
      });

      it(`adds gradients of fp16 up in fp16 and those of bf16 in fp32, with ${modelConfig}`, async () => {
        const inFp32 = async (more: string) => (await trainingOf(more, files)).gradAccumulationFp32?.value ?? 'as Megatron-LM does';
        assert.equal(await inFp32('  --fp16: true\n'), false);
        assert.equal(await inFp32('  --fp16: true\n  --accumulate-allreduce-grads-in-fp32: true\n'), true);
        assert.equal(await inFp32('  --bf16: true\n'), 'as Megatron-LM does');
      });
    }
  });

  it('of nanotron has no dropout from a config.json next to it, since its modules have none', async () => {
    const text = readFileSync(path.join(__dirname, '../../../fixtures/launchers/nanotron.yaml'), 'utf8');
    const dropping = JSON.stringify({ ...(JSON.parse(llama) as object), attention_dropout: 0.1 });
    const { run } = await loadConfig('nanotron.yaml', text, world({ 'config.json': dropping }));
    assert.ok(run);
    assert.equal(run.training.dropout, undefined);
  });

  it('is not an error when the sizes of the model are nowhere, and is not planned', async () => {
    const { run, noRun, findings } = await loadConfig('train.yaml', nemo, world({}));
    assert.equal(run, null);
    assert.equal(noRun?.code, 'model-not-planned');
    assert.ok(findings.every(({ severity }) => severity !== 'error'));
  });

  describe('that names its model by a flavour of its own', () => {
    const titan = (name: string, flavor: string): string =>
      `[model]\nname = "${name}"\nflavor = "${flavor}"\n[training]\nlocal_batch_size = 4\nseq_len = 4096\n[parallelism]\ntensor_parallel_degree = 2\n`;
    const bridge =
      'train: { global_batch_size: 64, micro_batch_size: 1 }\nmodel:\n  _target_: megatron.bridge.models.llama.llama_provider.Llama31ModelProvider70B\n  tensor_model_parallel_size: 8\n';

    it("has the sizes of that flavour, each marked as the launcher's, and reports it at the name", async () => {
      const { run, model, findings } = await loadConfig('train.toml', titan('qwen3', '32B'), world({}));
      assert.ok(run !== null);
      assert.equal(model, null);
      assert.deepEqual(
        { ...run.model.layers, source: plainSource(run.model.layers) },
        { value: 64, source: { kind: 'default', reason: 'qwen3 32B of TorchTitan' } },
      );
      assert.deepEqual(
        findings.map(({ code, severity }) => [code, severity]),
        [['sizes-of-launcher', 'information']],
      );
      assert.deepEqual(run.files, ['train.toml']);
    });

    it('comes after a config.json next to it', async () => {
      const { run, findings } = await loadConfig('train.toml', titan('qwen3', '32B'), world({ 'config.json': llama }));
      assert.equal(run?.model.layers.value, 8);
      assert.ok(!findings.some(({ code }) => code.startsWith('sizes-')));
    });

    it('is not planned where the flavour is not known', async () => {
      for (const [name, flavor] of [
        ['qwen3', '33B'],
        ['toString', '8B'],
        ['llama3', '__proto__'],
      ] as const) {
        const { run, findings } = await loadConfig('train.toml', titan(name, flavor), world({}));
        assert.equal(run, null);
        assert.deepEqual(
          findings.map(({ code }) => code),
          ['sizes-unknown'],
        );
      }
    });

    it('has as many parameters as its name shows', async () => {
      const billions: readonly (readonly [name: string, flavor: string, billions: number])[] = [
        ...([
          ['llama3', '8B', 8.03],
          ['llama3', '70B', 70.6],
          ['llama3', '405B', 406],
        ] as const),
        ...([
          ['llama4', '17bx16e', 108],
          ['llama4', '17bx128e', 401],
          ['llama4', '17bx128e_irope', 401],
        ] as const),
        ...([
          ['qwen3', '0.6B', 0.596],
          ['qwen3', '1.7B', 1.72],
          ['qwen3', '4B', 4.02],
          ['qwen3', '8B', 8.19],
          ['qwen3', '14B', 14.8],
        ] as const),
        ...([
          ['qwen3', '32B', 32.8],
          ['qwen3', '30B-A3B', 30.5],
          ['qwen3', '235B-A22B', 235],
        ] as const),
        ...([
          ['deepseek_v3', '16B', 15.7],
          ['deepseek_v3', '236B', 236],
          ['deepseek_v3', '671B', 671],
        ] as const),
      ];
      for (const [name, flavor, expected] of billions) {
        const { run } = await loadConfig('train.toml', titan(name, flavor), world({}));
        assert.ok(run !== null, flavor);
        const parameters = parameterCount(toModelSpec(run.model, run.traits));
        assert.equal(Number((parameters / 1e9).toPrecision(3)), expected, `${name} ${flavor}`);
      }
      const { run } = await loadConfig('train.yaml', bridge, world({}));
      assert.equal(run === null ? null : parameterCount(toModelSpec(run.model, run.traits)), 70_553_706_496);
    });

    it('takes the batch of each replica times the replicas, and the habits of its framework', async () => {
      const { run } = await loadConfig('train.toml', titan('llama3', '8B'), world({}));
      assert.ok(run !== null);
      const { training, layout, assumptions } = resolveRun(run, { gpu: 'H100-80GB', nodes: 4, gpusPerNode: null });
      assert.deepEqual([layout.data, training.globalBatch], [16, 64]);
      const why = new Map(assumptions.map(({ key, reason }) => [key, toText(reason)]));
      assert.equal(why.get('training.globalBatch'), '4 on each replica, as the files set');
      assert.match(why.get('training.zeroStage') ?? '', /FSDP2/);
    });
  });

  it('takes no other JSON for the model', async () => {
    const { model } = await loadConfig('train.yaml', nemo, world({ 'config.json': '{"name": "something"}' }));
    assert.equal(model, null);
  });

  it('refuses a YAML that is not a launcher at its start', async () => {
    await assert.rejects(loadConfig('compose.yaml', 'services: {}\n', world({})), { code: 'config-unknown-format' });
    for (const [file, text] of [
      ['notes.md', '# Runs\n'],
      ['schedule.csv', '0F0,0F1\n'],
    ] as const)
      await assert.rejects(loadConfig(file, text, world({})), {
        code: 'config-unknown-format',
        message: /TeraPipe does not read this config/,
      });
  });

  it('reads model configs and terapipe.json as before', async () => {
    const { run, launcher } = await loadConfig('config.json', llama, world({}));
    assert.equal(launcher, null);
    assert.equal(run?.format, 'huggingface');
  });
});
