import ts from 'typescript';

const anyText = ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral | ts.TypeFlags.Any;

/** Whether a type of keys holds every text, branded (`string & { brand }`) and generic (`K extends string`) ones included. */
function isAnyText(/** @type {ts.Type} */ type, /** @type {ts.TypeChecker} */ checker) {
  if (type.isUnion()) return type.types.some((each) => isAnyText(each, checker));
  if (type.isIntersection()) {
    const keys = type.types.filter(({ flags }) => (flags & ts.TypeFlags.Object) === 0);
    return keys.length > 0 && keys.every((each) => isAnyText(each, checker));
  }
  if (type.isTypeParameter()) {
    // As written: of `keyof T` TypeScript itself makes all texts.
    const parameter = type.symbol.declarations?.find(ts.isTypeParameterDeclaration);
    return parameter?.constraint !== undefined && isAnyText(checker.getTypeFromTypeNode(parameter.constraint), checker);
  }
  return (type.flags & anyText) !== 0;
}

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
    const isForeign = (/** @type {any} */ node) => isAnyText(services.getTypeAtLocation(node), services.program.getTypeChecker());
    return {
      MemberExpression(node) {
        const isWritten = node.parent.type === 'AssignmentExpression' && node.parent.left === node && node.parent.operator === '=';
        if (node.computed && !isWritten && isForeign(node.property)) context.report({ node, messageId: 'read' });
      },
      'ObjectPattern > Property[computed=true]'(/** @type {any} */ node) {
        if (isForeign(node.key)) context.report({ node, messageId: 'read' });
      },
      "BinaryExpression[operator='in'][left.type!='Literal'][left.type!='PrivateIdentifier']"(/** @type {any} */ node) {
        context.report({ node, messageId: 'in' });
      },
    };
  },
};
