import assert from 'node:assert/strict';
import { countTokens, mostTokens } from '../../src/features/agents/core/tool';
import { tools } from '../../src/features/agents/core/registry';
import { openServer, type Agent } from './over-stdio';
import { evaluationQuestions } from './questions/evaluation';
import { memoryQuestions } from './questions/memory';
import { readingQuestions } from './questions/reading';
import { runningQuestions } from './questions/running';
import { requireFact } from './questions/question';

const questions = [...readingQuestions, ...memoryQuestions, ...runningQuestions, ...evaluationQuestions];

describe('questions of engineers, asked over standard input and output', () => {
  const server = openServer();
  let agent: Agent;
  before(async () => {
    agent = await server.connect();
  });
  after(() => server.dispose());

  it('are 60 and more, of every tool', () => {
    assert.ok(questions.length >= 60);
    assert.deepEqual(new Set(questions.map(({ tool }) => `terapipe_${tool}`)), new Set(Object.keys(tools)));
    assert.equal(new Set(questions.map(({ asks }) => asks)).size, questions.length);
    for (const { facts } of questions) assert.ok(facts.length > 0);
  });

  for (const { asks, thread, tool, input, facts } of questions)
    it(`${asks} (${thread})`, async () => {
      const answered = await agent.call(`terapipe_${tool}`, input);
      assert.equal(answered.isError, false, answered.text);
      assert.ok(countTokens(answered.text + JSON.stringify(answered.data)) <= mostTokens, answered.text);
      for (const fact of facts) requireFact(fact, answered);
    });
});
