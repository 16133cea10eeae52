import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  explainSetting,
  settingKey,
  settingNamed,
  settings,
  settingsByName,
  type SettingName,
} from '../../../../../src/core/domain/settings/table';
import { say } from '../../../../../src/core/sentence';

const names = Object.keys(settingsByName) as SettingName[];

describe('the table of settings', () => {
  it('has each name once', () => {
    const counts = Object.values(settings).map((section) => Object.keys(section).length);
    assert.equal(
      names.length,
      counts.reduce((sum, count) => sum + count, 0),
    );
  });

  it('explains each in a sentence', () => {
    for (const name of names) assert.match(say(explainSetting(name).meaning), /^[A-Z].*\.$/, name);
  });

  it('gives each one type, or what reads or writes it', () => {
    for (const name of names) {
      const { type, read, key } = settingNamed(name);
      assert.ok(type === undefined ? read !== undefined || key !== undefined : read === undefined && key === undefined, name);
    }
  });

  it('names settings of a plan where one sets others', () => {
    for (const name of names)
      for (const other of settingNamed(name).sets ?? []) {
        const { type, key } = settingNamed(other as SettingName);
        assert.ok(type !== undefined || key !== undefined, `${name} sets ${other}`);
      }
  });

  it('gives no two settings the same name of the field, and each a key that it can set', () => {
    const given = names.flatMap((name) => settingNamed(name).fieldNames ?? []);
    assert.deepEqual(given, [...new Set(given)]);
    for (const name of names.filter((each) => settingNamed(each).fieldNames !== undefined)) {
      const { type, key } = settingNamed(name);
      assert.ok(type !== undefined || key !== undefined, settingKey(name));
    }
  });

  it('calls by a title what is compared in a file that was written', () => {
    for (const name of names) if (settingNamed(name).compared !== undefined) assert.notEqual(settingNamed(name).title, undefined, name);
  });
});
