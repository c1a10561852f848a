"""Turns ONNX's published node tests of one op into a JSON file.

usage: onnx_cases.py OP_TYPE EXPECTED_NUMBER OUT.json [--expanded]

Reads model and data files out of the installed `onnx` package; nothing of
them is kept in this project. The JSON is a list of cases:
  {name, op_type, attributes: {name: integer},
   inputs: [tensor or null], outputs: [tensor]}
  tensor: {data_type, dims, bytes}     data_type by its ONNX name, bytes in hex,
                                       packed as ONNX's raw_data
With --expanded it is those whose model is the op's function body:
  {name, nodes: [{op_type, attributes, inputs: [name], outputs: [name]}],
   constants, inputs, outputs: {name: tensor}}
Exits 1 when the package holds another number of cases than expected, so that
none is lost in silence.
"""

import json
import pathlib
import sys

import onnx
import onnx.backend.test

BYTES_PER_INT32_ENTRY = {"UINT16": 2, "INT16": 2, "FLOAT16": 2, "BFLOAT16": 2,
                         "INT32": 4}


def raw_bytes(tensor, type_name):
    if tensor.HasField("raw_data"):
        return tensor.raw_data
    if type_name == "FLOAT":
        import struct
        return struct.pack(f"<{len(tensor.float_data)}f", *tensor.float_data)
    # Eight bits and fewer: one byte an entry, types below a byte packed.
    size = BYTES_PER_INT32_ENTRY.get(type_name, 1)
    mask = (1 << 8 * size) - 1
    return b"".join((value & mask).to_bytes(size, "little")
                    for value in tensor.int32_data)


def read_tensor(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return describe(tensor)


def describe(tensor):
    type_name = onnx.TensorProto.DataType.Name(tensor.data_type)
    return {"data_type": type_name, "dims": list(tensor.dims),
            "bytes": raw_bytes(tensor, type_name).hex()}


def read_graph(folder):
    graph = onnx.load(folder / "model.onnx").graph
    data = folder / "test_data_set_0"

    def read_all(values, kind):
        return {value.name: read_tensor(data / f"{kind}_{i}.pb")
                for i, value in enumerate(values)}
    constants = {node.output[0]: node.attribute[0].t for node in graph.node
                 if node.op_type == "Constant"}
    return {"name": folder.name,
            "nodes": [{"op_type": node.op_type, "inputs": list(node.input),
                       "outputs": list(node.output),
                       "attributes": {a.name: a.i for a in node.attribute}}
                      for node in graph.node if node.op_type != "Constant"],
            "constants": {name: describe(tensor)
                          for name, tensor in constants.items()},
            "inputs": read_all(graph.input, "input"),
            "outputs": read_all(graph.output, "output")}


def read_case(folder):
    model = onnx.load(folder / "model.onnx")
    if len(model.graph.node) != 1:
        sys.exit(f"{folder.name}: {len(model.graph.node)} nodes, expected 1")
    node = model.graph.node[0]
    data = folder / "test_data_set_0"
    names = [value.name for value in model.graph.input]
    inputs = [read_tensor(data / f"input_{names.index(name)}.pb")
              if name else None for name in node.input]
    outputs = [read_tensor(data / f"output_{i}.pb")
               for i in range(len(node.output))]
    attributes = {a.name: a.i for a in node.attribute
                  if a.type == onnx.AttributeProto.INT}
    return {"name": folder.name, "op_type": node.op_type,
            "attributes": attributes, "inputs": inputs, "outputs": outputs}


def main():
    op_type, expected, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    expanded = sys.argv[4:] == ["--expanded"]
    nodes = pathlib.Path(onnx.backend.test.__file__).parent / "data" / "node"
    prefix = f"test_{op_type.lower()}"
    folders = sorted(f for f in nodes.iterdir()
                     if (f.name == prefix or f.name.startswith(prefix + "_"))
                     and f.name.endswith("_expanded") == expanded)
    read = read_graph if expanded else read_case
    cases = [read(folder) for folder in folders]
    print(f"onnx {onnx.__version__}: {len(cases)} cases of {op_type}")
    if len(cases) != expected:
        sys.exit(f"expected {expected} cases of {op_type} in this package")
    pathlib.Path(out).write_text(json.dumps(cases, indent=1))


main()
