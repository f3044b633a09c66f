--num-layers 2 --hidden-size 64 \
\
\
\
\
\
\
\
$((1 + ${A:-${B:-$(( ${C//x/yy} \
<<EOF
text
EOF
--bf16
