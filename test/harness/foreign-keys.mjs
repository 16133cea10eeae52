import ts from 'typescript';

const anyText = ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral | ts.TypeFlags.Any;

/**
 * Objects are not looked up by a text that may be any: a file's key may be named like a member of Object.prototype (`constructor`).
 * @type {import('eslint').Rule.RuleModule}
 */
export const foreignKeys = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      read: 'Read it with own(table, key) of src/core/records.ts, or from a Map: the key may be "constructor".',
      in: 'Use Object.hasOwn(table, key): the key may be "constructor".',
    },
  },
  create(context) {
    const services = context.sourceCode.parserServices;
    const isAnyText = (/** @type {any} */ node) => {
      const type = services.getTypeAtLocation(node);
      return (type.isUnion() ? type.types : [type]).some(({ flags }) => (flags & anyText) !== 0);
    };
    return {
      MemberExpression(node) {
        const isWritten = node.parent.type === 'AssignmentExpression' && node.parent.left === node && node.parent.operator === '=';
        if (node.computed && !isWritten && isAnyText(node.property)) context.report({ node, messageId: 'read' });
      },
      "BinaryExpression[operator='in'][left.type!='Literal'][left.type!='PrivateIdentifier']"(/** @type {any} */ node) {
        context.report({ node, messageId: 'in' });
      },
    };
  },
};
