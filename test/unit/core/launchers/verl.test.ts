import assert from 'node:assert/strict';
import type { LoadedConfig } from '../../../../src/core/config-files/load-config';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { ExpectedError } from '../../../../src/core/errors';
import { fileStart } from '../../../../src/core/languages/json/document';
import { say, sentence } from '../../../../src/core/sentence';
import { shellReader } from './shell/shell-reader';

/** After entropy/32b_kl_cov.sh of verl-project/verl-recipe. */
function load(model: string, project: string): Promise<LoadedConfig> {
  const text = `project_name='${project}'\nMODEL_PATH=\${MODEL_PATH:-"${model}"}\npython -m recipe.entropy.main_entropy data.max_prompt_length=2048 data.max_response_length=8192 actor_rollout_ref.model.path="\${MODEL_PATH}" actor_rollout_ref.actor.ppo_mini_batch_size=32 trainer.project_name="\${project_name}" trainer.experiment_name=klcov trainer.n_gpus_per_node=8 trainer.nnodes=4\n`; // prettier-ignore
  const read = (_from: string, name: string): Promise<{ file: string; text: string }> =>
    Promise.reject(new ExpectedError('config-not-found', sentence`not there`, sentence`look`, fileStart(name)));
  return loadConfig('32b_kl_cov.sh', text, { read, shell: shellReader });
}

describe('a verl script that leaves the path of its model to a person', () => {
  it('is planned with the model that its project is named after, and reports it', async () => {
    const { run, findings } = await load('/YOUR_MODELPATH', 'Qwen2.5-32B');
    assert.deepEqual([run?.model.layers.value, run?.model.hidden.value], [64, 5120]);
    assert.ok(findings.some(({ message }) => say(message).startsWith('The path of the model is a placeholder: "Qwen2.5-32B"')));
  });

  it('is not planned where no model has the name of the project, whole', async () => {
    for (const project of ['verl_example', 'my-Qwen2.5-32B-run', 'Qwen2.5'])
      assert.equal((await load('/YOUR_MODELPATH', project)).run, null, project);
  });

  it('is planned with the model of the path where that is one', async () => {
    const names = ['Qwen/Qwen2.5-7B', '/path/to/Qwen2.5-7B-Instruct', '/data/your_team/Qwen2.5-7B-Instruct'];
    for (const name of names) {
      const { run, findings } = await load(name, 'Qwen2.5-32B');
      assert.equal(run?.model.layers.value, 28, name);
      assert.ok(
        findings.every(({ message }) => !say(message).includes('placeholder')),
        name,
      );
    }
  });
});
