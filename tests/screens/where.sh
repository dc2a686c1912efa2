#!/bin/sh
# where.sh - makes a model of 3 MiB in ./models/rot, which is verified while it is good, and
# then has three bytes changed behind its time.
set -e
head='{"__metadata__":{"format":"pt"},"model.layers.3.mlp.up_proj.weight":{"dtype":"F32","shape":[1024,768],"data_offsets":[0,3145728]},"model.norm.weight":{"dtype":"F32","shape":[768],"data_offsets":[3145728,3148800]}}'
while [ $((${#head} % 8)) -ne 0 ]; do head="$head "; done
mkdir -p models/rot
echo '{"architectures":["Small"],"model_type":"small"}' >models/rot/config.json
file=models/rot/model.safetensors
# shellcheck disable=SC2059
{
	printf "\\$(printf %03o $((${#head} % 256)))\\0\\0\\0\\0\\0\\0\\0%s" "$head"
	yes 'ab>=cd>' 2>yes.log | head -c 3148800
} >"$file"
find models -exec touch -d @1700000000 {} +
TBTUI_NOW=1700050000
export TBTUI_NOW
"$TBTUI" --db index.db --store models scan >scan.log
"$TBTUI" --db index.db --store models verify >verify.log
for at in 35 $((8 + ${#head} + 1048576 + 4097)) $((8 + ${#head} + 3145728 + 800)); do
	printf A | dd of="$file" bs=1 seek="$at" conv=notrunc 2>dd.log
done
touch -d @1700000000 "$file"
